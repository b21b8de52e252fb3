# The agent of the document, made by `bridge init` in a folder that goes away with it.
#     bash scenarios/ust/serve.sh 8080
set -euo pipefail
folder=$(mktemp -d)
bridge init "$folder/support" --template ust --listen "127.0.0.1:$1"
bridge serve --config "$folder/support/bridge.toml" --store memory &
served=$!
trap 'kill -TERM $served 2>/dev/null || true; wait $served; rm -rf "$folder"' EXIT
trap 'exit 0' TERM INT
wait $served
