//! The handle on a store: opens it, sends work to the threads that own its connections, and waits for what comes back.
//!
//! It knows no SQL; what is kept and how is in the modules of the nouns.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

#[cfg(feature = "postgres")]
use crate::db::postgres;
use crate::db::{Closure, Queue, Shutdown, Tx, sqlite};
#[cfg(feature = "postgres")]
use crate::event::CHANNEL;
use crate::{Location, StoreError};

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looking only: nothing is made, and nothing changes but an old schema.
    Read,
    /// Everything, in a store that is there.
    Existing,
    /// Everything; the store is made where there is none.
    Write,
}

/// How a store is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How long to wait for another process that writes.
    pub busy_timeout: Duration,
    /// How many threads read a file, or use a connection to a server.
    pub connections: usize,
    /// Whether the room is used that a file keeps for collecting, so that it works on a full disk.
    pub collects: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            connections: 4,
            collects: false,
        }
    }
}

impl Options {
    /// Changes how long to wait for another process that writes.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Uses the room that a file keeps for collecting, for whoever is going to [`Store::collect`].
    #[must_use]
    pub fn collecting(mut self) -> Self {
        self.collects = true;
        self
    }
}

/// An open store. Clones share it; the last one to go waits until all is on the disk.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    location: Location,
    options: Options,
    writes: Option<Arc<Queue>>,
    reads: Arc<Queue>,
    /// Counts how often there may have been news, for those who wait for some.
    news: Arc<watch::Sender<u64>>,
    /// Whether somebody looks out for the news of others.
    watched: Mutex<bool>,
    shutdown: Arc<Shutdown>,
    /// The threads, and which of them is the one that writes a file.
    threads: Mutex<Vec<(bool, JoinHandle<()>)>>,
}

impl Store {
    /// Opens a store.
    pub fn open(location: &Location, access: Access) -> Result<Self, StoreError> {
        Self::open_with(location, access, Options::default())
    }

    /// Opens a store in a way of your own.
    pub fn open_with(
        location: &Location,
        access: Access,
        options: Options,
    ) -> Result<Self, StoreError> {
        let name: Arc<str> = location.to_string().into();
        let news = Arc::new(watch::Sender::new(0));
        let reads = Arc::new(Queue::default());
        let mut inner = Inner {
            location: location.clone(),
            options,
            writes: None,
            reads: Arc::clone(&reads),
            news: Arc::clone(&news),
            watched: Mutex::default(),
            shutdown: Arc::default(),
            threads: Mutex::default(),
        };
        let readers = inner.options.connections.max(1);
        match location {
            Location::Sqlite(path) => {
                let mut file = sqlite::File::new(path, &name, inner.options.busy_timeout)?;
                if inner.options.collects {
                    file = file.collecting();
                }
                for _ in 0..readers {
                    let (file, queue) = (file.clone(), Arc::clone(&reads));
                    inner.start(false, move || sqlite::read(&file, &queue))?;
                }
                if access != Access::Write {
                    file.check_readable()?;
                }
                if access != Access::Read {
                    let queue = Arc::new(Queue::default());
                    inner.writes = Some(Arc::clone(&queue));
                    let writer = sqlite::Writer::open(file)?;
                    inner.start(true, move || {
                        writer.work(&queue, &|| news.send_modify(|count| *count += 1));
                    })?;
                }
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(server) => {
                let writes = access != Access::Read;
                let pool = postgres::Pool::new(server, &name, inner.options.busy_timeout, writes);
                pool.check(access == Access::Write)?;
                for _ in 0..readers {
                    let (pool, queue) = (pool.clone(), Arc::clone(&reads));
                    inner.start(false, move || postgres::work(&pool, &queue))?;
                }
                inner.writes = writes.then_some(reads);
            }
        }
        Ok(Self(Arc::new(inner)))
    }

    /// Returns where the store is.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    /// Runs work in a transaction that may change something.
    ///
    /// The work may run more than once, and only the last time counts. It is sent before anybody waits for it.
    pub(crate) fn write<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    {
        let sent = match &self.0.writes {
            Some(queue) => Ok(self.send(queue, true, work)),
            None => {
                let why = format!("the store `{}` is open for reading only", self.0.location);
                Err(StoreError::refused(why))
            }
        };
        async { sent?.await }
    }

    /// Runs work that looks at one state of the store.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    {
        self.send(&self.0.reads, false, work).await
    }

    /// Gives the room back that rows took which were removed from some tables.
    pub(crate) async fn give_back(
        &self,
        #[cfg_attr(
            not(feature = "postgres"),
            expect(unused_variables, reason = "only a server has to be told")
        )]
        tables: &'static [&'static str],
    ) -> Result<(), StoreError> {
        let inner = &self.0;
        let name: Arc<str> = inner.location.to_string().into();
        let busy = inner.options.busy_timeout;
        let (reply, done) = oneshot::channel();
        match &inner.location {
            Location::Sqlite(path) => {
                let file = sqlite::File::new(path, &name, busy)?;
                inner.start(false, move || drop(reply.send(file.give_back())))?;
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(server) => {
                let pool = postgres::Pool::new(server, &name, busy, false);
                inner.start(false, move || drop(reply.send(pool.vacuum(tables))))?;
            }
        }
        let closed = |_| Err(StoreError::unavailable(&name, "has been closed"));
        done.await.unwrap_or_else(closed)
    }

    /// Returns what changes whenever anybody may have committed something.
    pub(crate) fn news(&self) -> Result<watch::Receiver<u64>, StoreError> {
        let inner = &self.0;
        let receiver = inner.news.subscribe();
        let mut watched = inner.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if !*watched {
            let (news, shutdown) = (Arc::clone(&inner.news), Arc::clone(&inner.shutdown));
            let changed = move || news.send_modify(|count| *count += 1);
            let name: Arc<str> = inner.location.to_string().into();
            match &inner.location {
                Location::Sqlite(path) => {
                    let file = sqlite::File::new(path, &name, inner.options.busy_timeout)?;
                    inner.start(false, move || sqlite::watch(&file, &shutdown, &changed))?;
                }
                #[cfg(feature = "postgres")]
                Location::Postgres(server) => {
                    let busy = inner.options.busy_timeout;
                    let pool = postgres::Pool::new(server, &name, busy, false);
                    inner.start(false, move || {
                        postgres::watch(&pool, CHANNEL, &shutdown, &changed);
                    })?;
                }
            }
            *watched = true;
        }
        Ok(receiver)
    }

    fn send<T, F>(
        &self,
        queue: &Queue,
        writes: bool,
        work: F,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, result) = Closure::job(writes, work);
        queue.push(job);
        let location = self.0.location.clone();
        async move {
            result.await.unwrap_or_else(|_| {
                let name = location.to_string();
                Err(StoreError::unavailable(&name, "has been closed"))
            })
        }
    }
}

impl Inner {
    fn start(&self, writes: bool, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let thread = thread::Builder::new().name("callsheet-store".to_owned());
        let started = thread.spawn(work).map_err(|error| {
            let why = format!("cannot be used: no thread for it: {error}");
            StoreError::unavailable(&self.location.to_string(), why)
        })?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push((writes, started));
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shutdown.give();
        self.reads.close();
        let threads = self.threads.get_mut();
        let threads = threads.unwrap_or_else(PoisonError::into_inner);
        let (writers, others): (Vec<_>, Vec<_>) =
            threads.drain(..).partition(|(writes, _)| *writes);
        join(others);
        // Only now: SQLite tidies up when the connection that is closed last can write.
        if let Some(writes) = &self.writes {
            writes.close();
        }
        join(writers);
    }
}

fn join(threads: Vec<(bool, JoinHandle<()>)>) {
    for (_, thread) in threads {
        if thread.thread().id() != thread::current().id() {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.0.location).finish()
    }
}
