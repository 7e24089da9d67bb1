//! Very many listeners of one server: how long an event takes from the store to each of them, and whether any is lost.
//! `bench/README.md` says why, and `bench/serve.py` starts the server and the agents.
//!
//! `cargo bench -p callsheet-server --bench listeners -- CLIENTS HOST:PORT TOKEN` listens to a server until stdin names the
//! last event. `… -- CLIENTS echo EVENTS PER_SECOND` is the floor: a server of a few lines that sends as many events to as many
//! listeners, without a store; it prints where it is and its process id, and ends when stdin does.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement that cannot be made stops, and its figures are read by a program"
)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::Event;
use axum::routing::get;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::sync::mpsc::{self, UnboundedSender};

/// How long is waited for what does not come.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a listener has counted.
#[derive(Default)]
struct Heard {
    /// How often an event took so many milliseconds.
    late: Vec<u32>,
    events: u64,
    gaps: u64,
}

fn main() {
    // Whoever runs or lists all tests starts this too, without the word that cargo says when it measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run(&args));
}

async fn run(args: &[String]) {
    let clients: usize = args[0].parse().unwrap();
    if args[1] == "echo" {
        let (events, per_second): (i64, u32) = (args[2].parse().unwrap(), args[3].parse().unwrap());
        println!(
            "{} {}",
            echo(clients, events, per_second).await,
            std::process::id()
        );
        let _ = line().await;
        return;
    }
    let last = Arc::new(AtomicI64::new(i64::MAX));
    let (ready, mut is_ready) = mpsc::unbounded_channel();
    let (address, token) = (args[1].clone(), args[2].clone());
    let listeners: Vec<_> = (0..clients)
        .map(|_| {
            tokio::spawn(listen(
                address.clone(),
                token.clone(),
                Arc::clone(&last),
                ready.clone(),
            ))
        })
        .collect();
    for _ in 0..clients {
        is_ready.recv().await.unwrap();
    }
    println!("ready");
    let number = line().await.unwrap().trim().parse();
    last.store(number.unwrap(), Ordering::Relaxed);
    let mut all = Heard::default();
    for listener in listeners {
        let heard = tokio::time::timeout(PATIENCE, listener)
            .await
            .unwrap()
            .unwrap();
        all.events += heard.events;
        all.gaps += heard.gaps;
        all.late.extend(heard.late);
    }
    all.late.sort_unstable();
    let at = |share: usize| {
        all.late
            .get(all.late.len() * share / 1000)
            .or(all.late.last())
    };
    println!(
        "{}",
        json!({"clients": clients, "events": all.events, "gaps": all.gaps,
            "p50_ms": at(500), "p99_ms": at(990), "worst_ms": all.late.last()})
    );
}

/// Returns the next line of stdin.
async fn line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| std::io::stdin().lines().next());
    read.await.unwrap().transpose().unwrap()
}

/// Listens until the last event; says when it is connected.
async fn listen(
    address: String,
    token: String,
    last: Arc<AtomicI64>,
    ready: UnboundedSender<()>,
) -> Heard {
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next_line().await.unwrap().unwrap();
    assert!(status.contains(" 200 "), "{status}");
    ready.send(()).unwrap();
    let (mut heard, mut before) = (Heard::default(), None);
    loop {
        // A quiet stream says that it is there now and then, so that this ends.
        let line = tokio::time::timeout(PATIENCE, lines.next_line())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        if let Some(data) = line.strip_prefix("data:") {
            let event: Value = serde_json::from_str(data).unwrap();
            let id = event["id"].as_i64().unwrap();
            heard.gaps += u64::from(before.is_some_and(|before| before + 1 != id));
            before = Some(id);
            heard.events += 1;
            let stored = event["timestamp"].as_i64().unwrap();
            heard.late.push(u32::try_from(now() - stored).unwrap_or(0));
        }
        if before.is_some_and(|id| id >= last.load(Ordering::Relaxed)) {
            return heard;
        }
    }
}

/// Serves events that come from nowhere, and sends them when everybody listens.
async fn echo(clients: usize, events: i64, per_second: u32) -> String {
    let (sender, _) = broadcast::channel::<Arc<str>>(4096);
    let router = Router::new()
        .route("/api/events", get(echoed))
        .with_state(sender.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    tokio::spawn(async move {
        while sender.receiver_count() < clients {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let began = Instant::now();
        for id in 1..=events {
            let due = Duration::from_secs_f64(id as f64 / f64::from(per_second));
            tokio::time::sleep(due.saturating_sub(began.elapsed())).await;
            let event = json!({"id": id, "seq": id, "type": "agent:text", "payload": {"text": "word 7"},
                "timestamp": now(), "run": "1m7t4t4habkqsm"});
            let _ = sender.send(event.to_string().into());
        }
    });
    address
}

async fn echoed(
    State(sender): State<broadcast::Sender<Arc<str>>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let receiver = sender.subscribe();
    Sse::new(async_stream(receiver))
}

/// Returns what is sent as a stream; whoever falls behind has lost it.
fn async_stream(
    receiver: broadcast::Receiver<Arc<str>>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    struct Sent(Option<Waiting>);
    type Waiting = std::pin::Pin<
        Box<dyn Future<Output = (Option<Arc<str>>, broadcast::Receiver<Arc<str>>)> + Send>,
    >;
    async fn next(
        mut receiver: broadcast::Receiver<Arc<str>>,
    ) -> (Option<Arc<str>>, broadcast::Receiver<Arc<str>>) {
        (receiver.recv().await.ok(), receiver)
    }
    impl Stream for Sent {
        type Item = Result<Event, Infallible>;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            let Some(waiting) = &mut self.0 else {
                return std::task::Poll::Ready(None);
            };
            let (text, receiver) = std::task::ready!(waiting.as_mut().poll(context));
            self.0 = text.is_some().then(|| Box::pin(next(receiver)) as Waiting);
            std::task::Poll::Ready(text.map(|text| Ok(Event::default().data(text))))
        }
    }
    Sent(Some(Box::pin(next(receiver))))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
