//! A git that is killed at every point of the way, and what is left of it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

/// A `git` for the clones of a world that kills one of the commands that it is asked for.
struct Killer<'a> {
    world: &'a World,
    /// All commits that anybody made.
    made: Vec<String>,
}

/// Which command is killed, and when.
#[derive(Clone, Copy)]
enum Kill {
    /// The command of this number, counted from one, when it is done but has not told so.
    Done(usize),
    /// The first command of this name, some milliseconds after its start.
    AtWork(&'static str, u32),
}

impl<'a> Killer<'a> {
    fn new(world: &'a World) -> Self {
        let path = std::env::var_os("PATH").unwrap();
        let mut found = std::env::split_paths(&path).map(|at| at.join("git"));
        let git = found.find(|git| git.exists()).unwrap();
        let (git, place) = (git.display(), world.user.path(""));
        let place = place.display();
        let script = format!(
            r#"#!/bin/sh
test -e {place}/kill || exec {git} "$@"
read -r left name delay < {place}/kill
case " $* " in *"$name"*) ;; *) exec {git} "$@" ;; esac
echo "$((left - 1)) $name $delay" > {place}/kill
test "$left" = 1 || exec {git} "$@"
if test -n "$delay"; then
    {git} "$@" & sleep "$delay"; kill -9 $! 2> /dev/null
else
    {git} "$@" > /dev/null 2>&1
fi
kill -9 $$
"#
        );
        fs::create_dir(world.user.path("bin")).unwrap();
        let wrapper = world.user.path("bin/git");
        fs::write(&wrapper, script).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        let made = Vec::new();
        Self { world, made }
    }

    /// Opens a clone again, with this `git` in its path.
    fn open<'w>(&self, side: &Side<'w>) -> Side<'w> {
        let mut env = self.world.user.env();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.world.user.path("bin").display());
        env.insert("PATH".into(), path.into());
        Side {
            world: side.world,
            top: side.top.clone(),
            repository: Repository::open_with(&side.top, &env).unwrap(),
        }
    }

    /// Does something while a command is killed, and tells whether there was such a command.
    fn kill<T>(&self, kill: Kill, act: impl FnOnce() -> T) -> bool {
        let plan = self.world.user.path("kill");
        let text = match kill {
            // Every command has this option.
            Kill::Done(number) => format!("{number} --no-pager\n"),
            Kill::AtWork(name, ms) => format!("1 {name} 0.{ms:03}\n"),
        };
        fs::write(&plan, text).unwrap();
        act();
        let left = fs::read_to_string(&plan).unwrap();
        fs::remove_file(&plan).unwrap();
        let left: i64 = left.split(' ').next().unwrap().parse().unwrap();
        left <= 0
    }

    /// Makes sure that what was made in a clone is on a ref there, and what was on the remote is still on a ref there.
    fn check(&self, at: &Path, made: &[String]) {
        let args = ["rev-list", "--no-walk"];
        let args = args.iter().copied().chain(made.iter().map(String::as_str));
        let args: Vec<&str> = args.chain(["--not", "--all"]).collect();
        let lost = self.world.user.git_in(at, &args);
        assert_eq!(lost, "", "lost in {}", at.display());
    }
}

/// Removes locks of refs, as git asks the user to after it was killed.
fn clear_locks(at: &Path) {
    for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            clear_locks(&path);
        } else if path.extension().is_some_and(|end| end == "lock") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// Lets two clones go different ways and kills commands of `act`, until it needs none of those that are killed.
fn survive(kills: &[Kill], act: impl Fn(&Side<'_>) -> Result<Delivery, RunError>) -> usize {
    let world = World::new();
    let (a, b) = (world.clone("a"), world.clone("b"));
    let mut killer = Killer::new(&world);
    let slow = killer.open(&b);
    let bare = world.user.path("remote.git");
    let (mut of_b, mut killed) = (Vec::new(), 0);
    killer.made.push(a.work("start"));
    a.publish(true).unwrap();
    b.bring().unwrap();
    b.git(&["worktree", "add", "--quiet", "../task", BRANCH]);
    for (round, &kill) in kills.iter().enumerate() {
        killer.made.push(a.work(&format!("a{round}")));
        a.publish(true).unwrap();
        of_b.push(b.work(&format!("b{round}")));
        b.git(&["-C", "../task", "reset", "--quiet", "--hard"]);
        let was_killed = killer.kill(kill, || act(&slow));
        if matches!(kill, Kill::AtWork(..)) {
            for at in [&bare, &b.top.join(".git")] {
                clear_locks(at);
            }
        }
        killer.check(&bare, &killer.made);
        killer.check(&b.top, &of_b);
        act(&b).unwrap();
        assert_eq!(act(&b).unwrap().branch, Tip::Same);
        killer.check(&bare, &killer.made);
        killer.check(&b.top, &of_b);
        b.fsck();
        assert_eq!(b.git(&["-C", "../task", "status", "--porcelain"]), "");
        if !was_killed {
            break;
        }
        killed += 1;
        b.publish(true).unwrap();
        killer.made.push(b.rev(BRANCH).unwrap());
        a.bring().unwrap();
    }
    killed
}

/// Returns every command of a way.
fn each() -> Vec<Kill> {
    (1..100).map(Kill::Done).collect()
}

#[test]
fn publishing_loses_nothing_when_it_is_cut_off() {
    let killed = survive(&each(), |side| side.publish(true));
    assert!((8..99).contains(&killed), "{killed}");
}

fn bring(side: &Side<'_>) -> Result<Delivery, RunError> {
    side.bring()
}

#[test]
fn bringing_loses_nothing_when_it_is_cut_off() {
    let killed = survive(&each(), bring);
    assert!((12..99).contains(&killed), "{killed}");
}

#[test]
fn a_git_that_is_killed_at_work_loses_nothing() {
    for name in ["fetch", "push"] {
        let kills = [1, 2, 3, 4, 6, 8, 10, 14].map(|ms| Kill::AtWork(name, ms));
        let killed = survive(&kills, |side| side.publish(true));
        assert_eq!(killed, kills.len());
    }
}
