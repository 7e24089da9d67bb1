//! `/ws`: the same events over a WebSocket, for clients that have one.

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use serde_json::{Value, json};

use super::listener::Heard;
use crate::api::batches;
use crate::server::Server;

/// How many bytes a message of a client may have.
const MOST: usize = 64 << 10;

/// Upgrades a request to a WebSocket.
pub(crate) async fn socket(State(server): State<Server>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(MOST)
        .on_upgrade(move |socket| serve(server, socket))
}

async fn serve(server: Server, mut socket: WebSocket) {
    let Ok(mut listener) = server.bus.listen(None, None).await else {
        return;
    };
    let init = json!({"type": "init", "payload": batches::init(&server).await, "timestamp": now()});
    if send(&mut socket, init.to_string()).await.is_none() {
        return;
    }
    loop {
        tokio::select! {
            heard = listener.next() => {
                let text = match heard {
                    Some(Heard::Event(frame)) => String::from_utf8_lossy(&frame.json).into_owned(),
                    Some(Heard::Refetch(seq)) => {
                        json!({"type": "refetch", "payload": {"id": seq}, "timestamp": now()}).to_string()
                    }
                    None => return,
                };
                if send(&mut socket, text).await.is_none() {
                    return;
                }
            }
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) if is_ping(&text) => {
                    let pong = json!({"type": "pong", "payload": {}, "timestamp": now()});
                    if send(&mut socket, pong.to_string()).await.is_none() {
                        return;
                    }
                }
                // Whatever else a client says is not for us.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
}

async fn send(socket: &mut WebSocket, text: String) -> Option<()> {
    socket.send(Message::Text(text.into())).await.ok()
}

fn is_ping(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|message| message["type"] == "ping")
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
