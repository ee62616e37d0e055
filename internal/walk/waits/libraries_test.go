// SPDX-License-Identifier: Apache-2.0

package waits

// Stacks of dumps, unless a source is named, without names that the library's file does not have: Debian 12's GLib
// 2.74, Qt 5.15, libgomp 12, libomp 14, OpenBLAS 0.3.21, libev 4.33, Boost 1.74 and abseil 20220623; Twisted 26.10;
// crossbeam 0.8.5 and parking_lot 0.12 with Rust 1.95; JDK 17; Node 20; Go 1.26; CPython 3.11; Ruby 3.1; PHP 8.2.
const (
	staticCond = `__futex_abstimed_wait_common|/app
		pthread_cond_wait|/app
		`
	staticThread = `start_thread|/app
		clone3|/app`
	thread = `start_thread|libc.so.6
		clone3|libc.so.6`
	libomp = `libomp.so.5+0xb15c0|/usr/lib/llvm-14/lib/libomp.so.5
		libomp.so.5+0x7bdb0|/usr/lib/llvm-14/lib/libomp.so.5
		`
	boostFuture = cond + `boost::condition_variable::wait|/app
		boost::detail::shared_state_base::wait_internal|/app
		boost::detail::shared_state<int>::get|/app
		boost::unique_future<int>::get|/app
		FuturePool::worker_loop|/app
		boost::detail::thread_data<main::{lambda()#2}>::run|/app
		|libboost_thread.so.1.74.0
		` + thread
	boostWorker = cond + `boost::condition_variable::wait|/app
		Pool::worker_loop|/app
		boost::detail::thread_data<main::{lambda()#1}>::run|/app
		|libboost_thread.so.1.74.0
		` + thread
	abseilWait = `syscall|libc.so.6
		absl::debian3::synchronization_internal::Waiter::Wait|/app
		AbslInternalPerThreadSemWait_debian3|/app
		`
	abseilThread = `std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run|/app
		|libstdc++.so.6
		` + thread
	rustFutex  = "syscall|libc.so.6\nstd::sys::pal::unix::futex::futex_wait|/app\n"
	rustThread = `core::ops::function::FnOnce::call_once|/app
		std::sys::backtrace::_rust_begin_short_backtrace|/app
		<std::sys::thread::unix::Thread>::new::thread_start|/app
		` + thread
	rustPark = rustFutex + `<std::sys::sync::thread_parking::futex::Parker>::park|/app
		<std::thread::thread::Thread>::park|/app
		`
	parkingLot = `syscall|libc.so.6
		parking_lot_core::thread_parker::imp::ThreadParker::futex_wait|/app
		<parking_lot_core::thread_parker::imp::ThreadParker as parking_lot_core::thread_parker::ThreadParkerT>::park|/app
		parking_lot_core::parking_lot::park|/app
		`
	rubyNative = `rb_native_cond_wait|libruby-3.1.so.3.1.2
		|libruby-3.1.so.3.1.2
		rb_ensure|libruby-3.1.so.3.1.2
		|libruby-3.1.so.3.1.2
		`
	goSleep = `runtime.futex|/app
		runtime.futexsleep|/app
		`
)

const mysqlRowLock = cond + `os_event::wait_low|/mysqld
	lock_wait_suspend_thread|/mysqld
	row_mysql_handle_errors|/mysqld
	` + mariaDBCommand

var libraryIdle = []idleCase{
	{"C, static", "futex", Condition, staticCond + "worker|/app\n" + staticThread, byName},
	{"C, static, a lock of unknown kind", "futex", NoWait, "__lll_lock_wait|/app\npthread_mutex_lock|/app\n" +
		"locked_worker|/app\n" + staticThread, ""},
	{"C++, a pool that waits with a condition for a time", "futex", Condition, cond + `std::__condvar::wait_until|/app
		std::condition_variable::wait_until<std::chrono::_V2::steady_clock, ThreadPool::worker()::{lambda()#1}>|/app
		ThreadPool::worker|/app
		` + thread, byName},
	{"Boost, a worker's condition", "futex", Condition, boostWorker, byName},
	{"Boost, a worker that waits for a future", "futex", Condition, boostFuture, ""},
	{"abseil, a worker's condition", "futex", Condition, abseilWait + "absl::debian3::CondVar::WaitCommon.cold|/app\n" +
		"Pool::worker_loop|/app\n" + abseilThread, byName},
	{"abseil, a worker's lock, its kind unknown", "futex", NoWait, abseilWait + `absl::debian3::Mutex::Block|/app
		absl::debian3::Mutex::LockSlowLoop|/app
		absl::debian3::Mutex::LockSlowWithDeadline|/app
		absl::debian3::Mutex::LockSlow|/app
		absl::debian3::Mutex::Lock|/app
		Pool::locked_worker|/app
		` + abseilThread, ""},
	{"folly, a worker's baton, by synchronization/Baton.h", "futex", Futex, `syscall|libc.so.6
		folly::detail::futexWaitImpl|/app
		folly::detail::MemoryIdler::futexWaitUntil<…>|/app
		folly::Baton<true, std::atomic>::tryWaitSlow<…>|/app
		app::Consumer::workerLoop|/app
		` + thread, byName},
	{"Rust, a worker's park", "futex", Park, rustPark + "std::thread::functions::park|/app\n" +
		"app::parked_worker|/app\n" + rustThread, byName},
	{"Rust, a worker's channel", "futex", Park, rustPark + `<std::sync::mpmc::context::Context>::wait_until|/app
		std::sync::mpmc::list::Channel<T>::recv|/app
		std::sync::mpsc::Receiver<T>::recv|/app
		app::worker_thread|/app
		` + rustThread, byName},
	{"Rust, a worker at a barrier", "futex", Condition, rustFutex + `<std::sys::sync::condvar::futex::Condvar>::wait|/app
		<std::sync::nonpoison::condvar::Condvar>::wait::<std::sync::barrier::BarrierState>|/app
		<std::sync::barrier::Barrier>::wait|/app
		app::barrier_worker|/app
		` + rustThread, ""},
	{"Rust, a worker that waits for its scope's threads", "futex", Park, rustPark + `std::thread::scoped::scope|/app
		app::scope_worker|/app
		` + rustThread, ""},
	{"Rust, a worker's lock, its kind unknown", "futex", NoWait, rustFutex +
		`<std::sys::sync::mutex::futex::Mutex>::lock_contended|/app
		std::sync::poison::mutex::Mutex<T>::lock|/app
		app::locked_worker|/app
		` + rustThread, ""},
	{"parking_lot, a worker's condition", "futex", Condition, parkingLot + `parking_lot::condvar::Condvar::wait|/app
		app::Pool::worker_loop|/app
		` + rustThread, byName},
	{"parking_lot, a worker's lock, without inlined calls, its kind unknown", "futex", NoWait, parkingLot +
		`parking_lot::raw_mutex::RawMutex::lock_slow|/app
		app::locked_worker|/app
		` + rustThread, ""},
	{"crossbeam, a worker's parker", "futex", Condition, rustCond + "crossbeam_utils::sync::parker::Inner::park|/app\n" +
		"app::parked_worker|/app\n" + rustThread, byName},
	{"crossbeam, a worker's channel", "futex", Park, rustPark + `crossbeam_channel::context::Context::wait_until|/app
		crossbeam_channel::flavors::list::Channel<T>::recv|/app
		crossbeam_channel::channel::Receiver<T>::recv|/app
		app::worker_thread|/app
		` + rustThread, byName},
	{"Go, the lock of the scheduler, without inlined calls", "futex", Park, goSleep + "runtime.lock2|/app\n" +
		"runtime.findRunnable|/app\nruntime.schedule|/app\nruntime.mcall|/app", ""},
	{"Go, the runtime's monitor", "futex", Park, goSleep + `runtime.notetsleep_internal|/app
		runtime.notetsleep|/app
		runtime.sysmon|/app
		runtime.mstart1|/app
		runtime.mstart0|/app
		runtime.mstart|/app`, IdleRuntime},
	{"Go, the runtime's monitor between two looks", "nanosleep", NoWait, `runtime.usleep|/app
		runtime.sysmon|/app
		runtime.mstart1|/app`, IdleRuntime},
	{"Go, a program's own sleep in the system", "nanosleep", NoWait, `syscall.Syscall|/app
		syscall.Nanosleep|/app
		main.nap|/app
		main.main|/app`, ""},
	{"libgomp, stripped", "futex", Futex, "|libgomp.so.1.0.0\n|libgomp.so.1.0.0\n" + thread, IdlePool},
	{"libgomp, stripped, a barrier within work", "futex", Futex, "|libgomp.so.1.0.0\nmain._omp_fn.0|/app\n" +
		"|libgomp.so.1.0.0\n" + thread, ""},
	{"libgomp, static", "futex", Futex, "gomp_barrier_wait_end|/app\ngomp_thread_start|/app\n" + staticThread, IdlePool},
	{"libgomp, static, a barrier within work", "futex", Futex, "gomp_team_barrier_wait_end|/app\nmain._omp_fn.0|/app\n" +
		"gomp_thread_start|/app\n" + staticThread, ""},
	{"libomp", "futex", Condition, cond + libomp + thread, IdlePool},
	{"libomp, a barrier within work", "futex", Condition, cond + libomp + "main._omp_fn.0|/app\n" + libomp + thread, ""},
	{"OpenBLAS, stripped", "futex", Condition, cond + "libopenblasp-r0.3.21.so+0x374810|libopenblasp-r0.3.21.so\n" +
		thread, IdlePool},
	{"OpenBLAS, static", "futex", Condition, cond + "blas_thread_server|/app\n" + thread, IdlePool},
	{"GLib, a pool's thread", "futex", Futex, `syscall|libc.so.6
		g_cond_wait|libglib-2.0.so.0.7400.6
		libglib-2.0.so.0.7400.6+0x227e0|libglib-2.0.so.0.7400.6
		libglib-2.0.so.0.7400.6+0x7f530|libglib-2.0.so.0.7400.6
		libglib-2.0.so.0.7400.6+0x7eca0|libglib-2.0.so.0.7400.6
		` + thread, IdlePool},
	{"GLib, a pool's task that waits", "futex", Futex, `syscall|libc.so.6
		g_cond_wait|libglib-2.0.so.0.7400.6
		flush|/app
		libglib-2.0.so.0.7400.6+0x7f530|libglib-2.0.so.0.7400.6
		libglib-2.0.so.0.7400.6+0x7eca0|libglib-2.0.so.0.7400.6
		` + thread, ""},
	{"GLib, a worker's condition", "futex", Futex, `syscall|libc.so.6
		g_cond_wait|libglib-2.0.so.0.7400.6
		worker|/app
		libglib-2.0.so.0.7400.6+0x7eca0|libglib-2.0.so.0.7400.6
		` + thread, byName},
	{"Qt, a pool's thread", "futex", Condition, cond + `QWaitCondition::wait|libQt5Core.so.5.15.8
		libQt5Core.so.5.15.8+0xceec0|libQt5Core.so.5.15.8
		libQt5Core.so.5.15.8+0xcbc50|libQt5Core.so.5.15.8
		` + thread, IdlePool},
	{"Qt, a worker's semaphore", "futex", Futex, `syscall|libc.so.6
		QSemaphore::acquire|libQt5Core.so.5.15.8
		SemaphoreWorker::run|/app
		libQt5Core.so.5.15.8+0xcbc50|libQt5Core.so.5.15.8
		` + thread, byName},
	{"libev with poll", "poll", Descriptor, "poll|libc.so.6\nlibev.so.4.0.0+0x7440|libev.so.4.0.0\n" +
		"ev_run|libev.so.4.0.0\nserve|/app\nmain|/app", IdleEventLoop},
	{"Twisted with poll, as CPython up to 3.10 names it", "poll", Descriptor, `poll|libc.so.6
		select_poll_poll|select.cpython-310-x86_64-linux-gnu.so
		doPoll|[CPython 3.10.13]|/v/lib/python3.10/site-packages/twisted/internet/pollreactor.py
		iterate|[CPython 3.10.13]|/v/lib/python3.10/site-packages/twisted/internet/base.py
		poll_forever|[CPython 3.10.13]|/srv/site.py`, IdleEventLoop},
	{"MySQL, the next connection for a cached thread, by connection_handler_per_thread.cc", "futex", Condition, cond +
		`Per_thread_connection_handler::block_until_new_connection|/mysqld
		handle_connection|/mysqld
		pfs_spawn_thread|/mysqld
		` + thread, IdlePool},
	{"MySQL 9.7, a thread of InnoDB", "futex", Condition, cond + "os_event::wait_low|/mysqld\nlog_writer|/mysqld\n" +
		"std::thread::_State_impl<std::thread::_Invoker<std::tuple<Detached_thread, void (*)(log_t*), log_t*> > >::_M_run" +
		"|/mysqld\n|libstdc++.so.6\n" + thread, IdlePool},
	{"MySQL 9.7, a row's lock", "futex", Condition, mysqlRowLock, ""},
	{"cpp-httplib 0.11, a worker of the pool", "futex", Condition, cond +
		`std::condition_variable::wait<httplib::ThreadPool::worker::operator()()::{lambda()#1}>|/app
		httplib::ThreadPool::worker::operator()|/app
		|libstdc++.so.6
		` + thread, IdlePool},
	{"cpp-httplib 0.11, a task that waits", "futex", Condition, cond + `store|/app
		std::function<void ()>::operator()|/app
		httplib::ThreadPool::worker::operator()|/app
		|libstdc++.so.6
		` + thread, ""},
	{"DuckDB 2.0, a worker of the pool", "futex", Semaphore, `__new_sem_wait_slow64|libc.so.6
		duckdb::TaskScheduler::ExecuteForever|_duckdb.cpython-311-x86_64-linux-gnu.so
		|libstdc++.so.6
		` + thread, IdlePool},
	{"JDK 27, ZGC's threads that uncommit", "futex", Condition, cond + "PlatformMonitor::wait|/jvm/libjvm.so\n" +
		"ZUncommitter::wait|/jvm/libjvm.so\nZUncommitter::run_thread|/jvm/libjvm.so", IdleRuntime},
	{"JDK 27, ZGC's director", "futex", Condition, cond + "PlatformMonitor::wait|/jvm/libjvm.so\n" +
		"ZDirector::run_thread|/jvm/libjvm.so\nZThread::run_service|/jvm/libjvm.so", IdleRuntime},
	{"JDK 17, a server's socket with a time-out", "poll", Descriptor, `poll|libc.so.6
		Java_sun_nio_ch_Net_poll|/jvm/libnio.so
		sun.nio.ch.Net.poll|[HotSpot 17.0.15]
		sun.nio.ch.NioSocketImpl.park|[HotSpot 17.0.15]
		sun.nio.ch.NioSocketImpl.timedAccept|[HotSpot 17.0.15]
		sun.nio.ch.NioSocketImpl.accept|[HotSpot 17.0.15]
		java.net.ServerSocket.implAccept|[HotSpot 17.0.15]
		java.net.ServerSocket.accept|[HotSpot 17.0.15]
		W.serve|[HotSpot 17.0.15]`, IdleAccept},
	{"JDK 17, a consumer that was signalled waits for the lock, by ConditionObject.await", "futex", Park, javaPark +
		`java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire|[HotSpot 17.0.15]
		java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await|[HotSpot 17.0.15]
		java.util.concurrent.LinkedBlockingQueue.take|[HotSpot 17.0.15]
		java.util.concurrent.ThreadPoolExecutor.getTask|[HotSpot 17.0.15]
		` + javaPool, ""},
	{"Java's launcher", "futex", Join, `__futex_abstimed_wait_common|libc.so.6
		__pthread_clockjoin_ex|libc.so.6
		CallJavaMainInNewThread|/jvm/libjli.so
		ContinueInNewThread|/jvm/libjli.so
		JLI_Launch|/jvm/libjli.so
		|/jvm/bin/java
		__libc_start_call_main|libc.so.6`, IdleRuntime},
	{"Node, the inspector's thread", "futex", Semaphore, `__new_sem_wait_slow64|libc.so.6
		uv_sem_wait|/usr/bin/node
		node::inspector::(anonymous namespace)::StartIoThreadMain|/usr/bin/node
		` + thread, IdleRuntime},
	{"Python, a thread that takes from a queue", "futex", Semaphore, pythonLock +
		"Queue.get|[CPython 3.11.7]|/usr/lib/python3.11/queue.py\nfetch_orders|[CPython 3.11.7]|/app/q.py\n" + pythonThread,
		IdlePool},
	{"Python, a thread that takes from a SimpleQueue, stripped", "futex", Semaphore, `__new_sem_wait_slow64|libc.so.6
		PyThread_acquire_lock_timed|libpython3.11.so.1.0
		|_queue.cpython-311-x86_64-linux-gnu.so
		fetch_simple|[CPython 3.11.7]|/app/q.py
		` + pythonThread, IdlePool},
	{"Ruby, puma's worker, with the interpreter's functions", "futex", ObjectWait, cond + rubyNative +
		"sleep|[Ruby 3.1.2]\nwait|[Ruby 3.1.2]\n" +
		"block (2 levels) in spawn_thread|[Ruby 3.1.2]|/gems/puma/thread_pool.rb\n" + thread, IdlePool},
	{"PHP, ReactPHP's loop", "pselect6", Descriptor, `select|libc.so.6
		|/usr/bin/php8.2
		stream_select|[PHP 8.2.36]
		React\EventLoop\StreamSelectLoop::streamSelect|[PHP 8.2.36]|/v/react/event-loop/src/StreamSelectLoop.php
		React\EventLoop\StreamSelectLoop::waitForStreamActivity|[PHP 8.2.36]|/v/react/event-loop/src/StreamSelectLoop.php`,
		IdleEventLoop},
}

// libraryFunctions are stacks with the program's innermost function.
var libraryFunctions = map[string]string{
	boostWorker:  "Pool::worker_loop",
	mysqlRowLock: "lock_wait_suspend_thread",
	"epoll_wait|libc.so.6\nWaitEventSetWait|postgres\nWaitLatch|postgres\nProcSleep|postgres\nWaitOnLock|postgres\n" +
		"LockAcquireExtended|postgres\nXactLockTableWait|postgres": "XactLockTableWait",
	staticCond + "worker|/app\n" + staticThread:                                              "worker",
	cond + "__gnu_cxx::__verbose_terminate_handler|/app\nstd::thread::join|/app\nserve|/app": "serve",
	rustFutex + "<std::sys::sync::mutex::futex::Mutex>::lock|/app\nserve|/app":               "serve",
	"syscall|libc.so.6\ng_cond_wait|libglib-2.0.so.0.7400.6\nworker|/app\n" + thread:         "worker",
	pythonLock + "__init__|[CPython 3.11.7]|<attrs generated init shop.Order>\n" +
		"_connection_for_bind|[CPython 3.11.7]|<sqlalchemy generated _go() wrapper for sqlalchemy.orm.session>\n" +
		"balance|[CPython 3.11.7]|/srv/ledger.py": "balance",
	cond + rubyNative + "pop|[Ruby 3.1.2]\nworker|[Ruby 3.1.2]|/srv/shop.rb":                        "worker",
	"epoll_wait|libc.so.6\nllhttp__internal_execute|libnode.so.108\nserve|[Node 20.20.2]|/srv/s.js": "serve",
}
