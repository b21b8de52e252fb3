# Fetch public Agent Card (well-known)
curl -s http://localhost:8080/.well-known/agent-card.json | jq .name

# Call message/send (JSON-RPC over HTTP)
curl -s http://localhost:8080/a2a/v1 \
  -H 'Content-Type: application/json' \
  -H 'Authorization: Bearer X' \
  -d '{
        "jsonrpc":"2.0","id":"1","method":"message/send",
        "params":{
          "message":{
            "messageId":"11111111-2222-3333-4444-555555555555",
            "role":"user",
            "parts":[{"kind":"text","text":"vpn reset?"}]
          }
        }
      }'
