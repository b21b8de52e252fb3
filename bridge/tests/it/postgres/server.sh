# Runs a PostgreSQL server of its own in a new folder, which is removed at the end; a standby if PRIMARY is the folder of another
# one. Commands come in as lines: `stop` (as a crash does), `start`, `promote` (a standby), `freeze` and `thaw` (all of its
# processes); each is answered with a line. When the standard input ends, everything is over.
set -eu
for bin in /usr/lib/postgresql/*/bin; do PATH=$bin:$PATH; done
folder=$(mktemp -d /tmp/bridge-postgres-XXXXXX)
finish() {
    if [ -n "${server:-}" ]; then kill -QUIT "$server" 2>/dev/null && wait "$server" || :; fi
    rm -rf "$folder"
}
trap finish EXIT
if [ -n "${PRIMARY:-}" ]; then
    pg_basebackup --pgdata="$folder/data" --host="$PRIMARY" --username=bridge --write-recovery-conf --checkpoint=fast --no-sync
else
    initdb --pgdata="$folder/data" --username=bridge --auth=trust --encoding=UTF8 --locale=C --no-sync >/dev/null
fi
if [ -n "${TLS_KEY:-}" ]; then
    # The server takes a key that nobody else can read.
    (umask 077; printf '%s' "$TLS_KEY" >"$folder/key.pem"; printf '%s' "$TLS_CERTIFICATE" >"$folder/certificate.pem")
    set -- -c ssl=on -c ssl_key_file="$folder/key.pem" -c ssl_cert_file="$folder/certificate.pem" "$@"
fi
start() {
    postgres -D "$folder/data" -k "$folder" -c listen_addresses= -c max_connections=400 -c shared_buffers=64MB \
        "$@" >>"$folder/log" 2>&1 &
    server=$!
    # Until a connection is accepted.
    until psql -h "$folder" -U bridge -d postgres -qAtc 'SELECT 1' >/dev/null 2>&1; do
        kill -0 "$server" || { cat "$folder/log" >&2; exit 1; }
        sleep 0.05
    done
}
start "$@"
echo "$folder"
while read -r command; do
    case $command in
        stop) kill -QUIT "$server"; wait "$server" || : ;;
        start) start "$@" ;;
        promote) pg_ctl --pgdata="$folder/data" --wait promote >/dev/null ;;
        freeze) kill -STOP "$server"; pkill -STOP -P "$server" ;;
        thaw) pkill -CONT -P "$server"; kill -CONT "$server" ;;
    esac
    echo "$command"
done
