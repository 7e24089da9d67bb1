//! Agents as processes: fake ones below a real supervisor, and scripts that are played.

mod agent;
mod driver;
mod ending;
mod marked;
mod player;
mod sandbox;
mod start;
mod stop;
