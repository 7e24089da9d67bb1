//! `/ws`: the same events over a WebSocket, for clients that have one.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, interval_at};

use super::listener::Heard;
use crate::api::batches;
use crate::error::ApiError;
use crate::server::Server;

/// How many bytes a message of a client may have.
const MOST: usize = 64 << 10;

/// Upgrades a request to a WebSocket.
pub(crate) async fn socket(
    State(server): State<Server>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return ApiError::validation(rejection.body_text()).into_response(),
    };
    upgrade
        .max_message_size(MOST)
        .on_upgrade(move |socket| serve(server, socket))
}

async fn serve(server: Server, mut socket: WebSocket) {
    let Ok(mut listener) = server.bus.listen(None, None).await else {
        return;
    };
    let payload = batches::init(&server).await;
    // What was told at once is not told again.
    let told = payload["events"][0]["seq"].as_i64().unwrap_or(0);
    let init = json!({"type": "init", "payload": payload, "timestamp": now()});
    if send(&mut socket, init.to_string()).await.is_none() {
        return;
    }
    let mut heartbeat = Heartbeat::of(&server);
    loop {
        tokio::select! {
            () = heartbeat.beat() => {
                if !heartbeat.is_answered || ping(&mut socket).await.is_none() {
                    return;
                }
                heartbeat.is_answered = false;
            }
            heard = listener.next() => {
                let text = match heard {
                    Some(Heard::Event(frame)) if frame.seq <= told => continue,
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
                // Whatever a client says, it is there.
                Some(Ok(Message::Pong(_))) => heartbeat.is_answered = true,
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

/// Asks a client now and then whether it is still there.
struct Heartbeat {
    interval: Option<Interval>,
    /// Whether the client has answered the last time.
    is_answered: bool,
}

impl Heartbeat {
    /// Returns the heartbeat that the project sets; none where it wants none.
    fn of(server: &Server) -> Self {
        let settings = server.settings().map(|settings| settings.serve);
        let seconds = settings.unwrap_or_default().websocket_heartbeat_seconds;
        let every = Duration::from_secs(u64::from(seconds));
        let interval = (seconds > 0).then(|| interval_at(Instant::now() + every, every));
        Self {
            interval,
            is_answered: true,
        }
    }

    async fn beat(&mut self) {
        match &mut self.interval {
            Some(interval) => {
                interval.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}

async fn ping(socket: &mut WebSocket) -> Option<()> {
    socket.send(Message::Ping(Bytes::new())).await.ok()
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
