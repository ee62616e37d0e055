// Threads that wait for locks of parking_lot that the thread "owner" holds. Each is named after its row. It prints
// "ready", and ends when its standard input does.
use parking_lot::{Condvar, Mutex, RwLock};
use std::io::Read;
use std::sync::mpsc;
use std::thread;

static MUTEX: Mutex<u32> = parking_lot::const_mutex(0);
static RWLOCK: RwLock<u32> = parking_lot::const_rwlock(0);
static OTHER: Mutex<u32> = parking_lot::const_mutex(0);
static CONDVAR: Condvar = Condvar::new();

fn wait_mutex() { drop(MUTEX.lock()) }
fn wait_read() { drop(RWLOCK.read()) }
fn wait_write() { drop(RWLOCK.write()) }
fn wait_cond() {
    let mut held = OTHER.lock();
    loop { CONDVAR.wait(&mut held) }
}

fn start(name: &str, f: fn()) { thread::Builder::new().name(name.into()).spawn(f).unwrap(); }

fn main() {
    let (held, is_held) = mpsc::channel();
    thread::Builder::new().name("owner".into()).spawn(move || {
        let _a = MUTEX.lock();
        let _b = RWLOCK.write();
        held.send(()).unwrap();
        loop { thread::sleep(std::time::Duration::from_secs(3600)) }
    }).unwrap();
    is_held.recv().unwrap();
    start("mutex", wait_mutex);
    start("read", wait_read);
    start("write", wait_write);
    start("cond", wait_cond);
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    std::process::exit(0);
}
