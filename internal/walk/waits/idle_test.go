// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func frames(text string) (stack []Frame) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		f := strings.Split(strings.TrimSpace(line)+"||", "|")
		stack = append(stack, Frame{Function: f[0], Module: f[1], File: f[2]})
	}
	return stack
}

const (
	javaPark = `__futex_abstimed_wait_common|/usr/lib/libc.so.6
		pthread_cond_wait|/usr/lib/libc.so.6
		Parker::park|/jvm/libjvm.so
		Unsafe_Park|/jvm/libjvm.so
		jdk.internal.misc.Unsafe.park|[HotSpot 17.0.15]
		java.util.concurrent.locks.LockSupport.park|[HotSpot 17.0.15]
		`
	javaAwait = javaPark + `java.util.concurrent.ForkJoinPool.managedBlock|[HotSpot 17.0.15]
		java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await|[HotSpot 17.0.15]
		java.util.concurrent.LinkedBlockingQueue.take|[HotSpot 17.0.15]
		`
	javaPermit = javaPark + `java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire|[HotSpot 17.0.15]
		java.util.concurrent.locks.AbstractQueuedSynchronizer.tryAcquireSharedNanos|[HotSpot 17.0.15]
		java.util.concurrent.Semaphore.tryAcquire|[HotSpot 17.0.15]
		`
	jettyReserved = `org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.waitForTask|[HotSpot 17.0.15]
		org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.run|[HotSpot 17.0.15]
		org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run|[HotSpot 17.0.15]
		java.lang.Thread.run|[HotSpot 17.0.15]`
	javaPool = `java.util.concurrent.ThreadPoolExecutor.runWorker|[HotSpot 17.0.15]
		java.util.concurrent.ThreadPoolExecutor$Worker.run|[HotSpot 17.0.15]
		java.lang.Thread.run|[HotSpot 17.0.15]
		call_stub|[HotSpot 17.0.15]
		JavaCalls::call_helper|/jvm/libjvm.so
		start_thread|/usr/lib/libc.so.6`
	pythonLock = `__new_sem_wait_slow64|/usr/lib/libc.so.6
		PyThread_acquire_lock_timed|/usr/lib/libpython3.11.so.1.0
		lock_PyThread_acquire_lock|/usr/lib/libpython3.11.so.1.0
		Condition.wait|[CPython 3.11.7]|/usr/lib/python3.11/threading.py
		`
	pythonPool = `_WorkItem.run|[CPython 3.11.7]|/usr/lib/python3.11/concurrent/futures/thread.py
		_worker|[CPython 3.11.7]|/usr/lib/python3.11/concurrent/futures/thread.py
		` + pythonThread
	pythonProcess = `SimpleQueue.get|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/queues.py
		worker|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/pool.py
		BaseProcess.run|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/process.py
		Pool.__init__|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/pool.py
		nightly|[CPython 3.11.7]|/app/job.py
		<module>|[CPython 3.11.7]|/app/job.py`
	billiardRead = `read|/usr/lib/libc.so.6
		Connection._recv|[CPython 3.11.7]|/v/billiard/connection.py
		Connection._recv_bytes|[CPython 3.11.7]|/v/billiard/connection.py
		_ConnectionBase.recv_bytes|[CPython 3.11.7]|/v/billiard/connection.py
		`
	billiardWorker = `Worker._make_protected_receive.<locals>.receive|[CPython 3.11.7]|/v/billiard/pool.py
		Worker.workloop|[CPython 3.11.7]|/v/billiard/pool.py
		Worker.__call__|[CPython 3.11.7]|/v/billiard/pool.py
		<module>|[CPython 3.11.7]|/v/bin/celery`
	pythonThread = `Thread.run|[CPython 3.11.7]|/usr/lib/python3.11/threading.py
		Thread._bootstrap_inner|[CPython 3.11.7]|/usr/lib/python3.11/threading.py
		Thread._bootstrap|[CPython 3.11.7]|/usr/lib/python3.11/threading.py
		thread_run|/usr/lib/libpython3.11.so.1.0
		start_thread|/usr/lib/libc.so.6`
	cond = `__futex_abstimed_wait_common|/usr/lib/libc.so.6
		pthread_cond_wait|/usr/lib/libc.so.6
		`
	cxxPool = `ThreadPool::worker|/app
		ThreadPool::ThreadPool(int)::{lambda()#1}::operator()|/app
		std::__invoke_impl<void, ThreadPool::ThreadPool(int)::{lambda()#1}>|/app
		std::thread::_State_impl<ThreadPool::ThreadPool(int)::{lambda()#1}>::_M_run|/app
		start_thread|/usr/lib/libc.so.6`
	asioPool = `boost::asio::detail::posix_event::wait<Lock>|/app
		boost::asio::detail::conditionally_enabled_event::wait|/app
		boost::asio::detail::scheduler::do_run_one|/app
		boost::asio::detail::scheduler::run|/app
		boost::asio::thread_pool::thread_function::operator()|/app
		start_thread|/usr/lib/libc.so.6`
	mariaDBDispatch = "mysql_execute_command|/mariadbd\ndispatch_command|/mariadbd\n"
	mariaDBCommand  = mariaDBDispatch + `do_command|/mariadbd
		do_handle_one_connection|/mariadbd
		handle_one_connection|/mariadbd
		|/mariadbd
		start_thread|libc.so.6`
	dovecotLoop = `epoll_wait|libc.so.6
		io_loop_handler_run_internal|libdovecot.so.0
		io_loop_handler_run|libdovecot.so.0
		io_loop_run|libdovecot.so.0
		`
	teventLoop = `epoll_wait|libc.so.6
		|libtevent.so.0
		|libtevent.so.0
		_tevent_loop_once|libtevent.so.0
		`
	pocoThread = "Poco::ThreadImpl::runnableEntry|/clickhouse\nstart_thread|libc.so.6"
	beamWait   = "syscall|/usr/lib/libc.so.6\nethr_event_twait|/beam.smp\n"
	rustCond   = `syscall|/usr/lib/libc.so.6
		std::sys::pal::unix::futex::futex_wait|/app
		std::sync::poison::condvar::Condvar::wait|/app
		`
	rayonPool = `rayon_core::sleep::Sleep::sleep|/app
		rayon_core::registry::WorkerThread::wait_until_cold|/app
		rayon_core::registry::main_loop|/app
		rayon_core::registry::ThreadBuilder::run|/app
		start_thread|/usr/lib/libc.so.6`
	kernel = `futex_do_wait|[kernel]
		__futex_wait|[kernel]
		do_syscall_64|[kernel]
		`
)

// byName is the result of a guess.
const byName = "by name"

func ruleOf(reason string, kind Kind, stack []Frame) string {
	idle := Idle(reason, kind, stack)
	if idle.IdleGuess != "" {
		return byName
	}
	return idle.Idle
}

type idleCase struct {
	name, wait string
	kind       Kind
	stack      string
	want       string
}

var javaIdle = []idleCase{
	{"Java, the pool's take", "futex", Park, javaAwait +
		"java.util.concurrent.ThreadPoolExecutor.getTask|[HotSpot 17.0.15]\n" + javaPool, IdlePool},
	{"Java, a task that waits for a task", "futex", Park, javaPark +
		"java.util.concurrent.FutureTask.get|[HotSpot 17.0.15]\nPools.task|[HotSpot 17.0.15]\n" + javaPool, ""},
	{"Java, a task that takes from a queue", "futex", Park, javaAwait + "Shop.serve|[HotSpot 17.0.15]\n" +
		"" + javaPool, ""},
	{"Java, Tomcat's pool and queue", "futex", Park, javaAwait +
		"org.apache.tomcat.util.threads.TaskQueue.poll|[HotSpot 17.0.15]\n" +
		"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask|[HotSpot 17.0.15]\n" +
		"org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker|[HotSpot 17.0.15]\n" +
		"java.lang.Thread.run|[HotSpot 17.0.15]", IdlePool},
	{"Java, Tomcat's pool, the queue's method and its bridge", "futex", Park, javaAwait +
		"org.apache.tomcat.util.threads.TaskQueue.take|[HotSpot 25.0.3]\n" +
		"org.apache.tomcat.util.threads.TaskQueue.take|[HotSpot 25.0.3]\n" +
		"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask|[HotSpot 25.0.3]\n" +
		"org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker|[HotSpot 25.0.3]\n" +
		"java.lang.Thread.run|[HotSpot 25.0.3]", IdlePool},
	{"Java, a pool without a queue", "futex", Park, javaPark +
		"java.util.concurrent.LinkedTransferQueue$DualNode.await|[HotSpot 25.0.3]\n" +
		"java.util.concurrent.SynchronousQueue$Transferer.xferLifo|[HotSpot 25.0.3]\n" +
		"java.util.concurrent.SynchronousQueue.poll|[HotSpot 25.0.3]\n" +
		"java.util.concurrent.ThreadPoolExecutor.getTask|[HotSpot 25.0.3]\n" + javaPool, IdlePool},
	{"Java, Kafka's request handler", "futex", Park, javaAwait +
		"kafka.network.RequestChannel.receiveRequest|[HotSpot 17.0.15]\n" +
		"kafka.server.KafkaRequestHandler.run|[HotSpot 17.0.15]\njava.lang.Thread.run|[HotSpot 17.0.15]", IdlePool},
	{"Java, Kafka's request handler waits for the queue's lock", "futex", Park, javaPark +
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire|[HotSpot 17.0.15]\n" +
		"java.util.concurrent.ArrayBlockingQueue.poll|[HotSpot 17.0.15]\n" +
		"kafka.network.RequestChannel.receiveRequest|[HotSpot 17.0.15]\n" +
		"kafka.server.KafkaRequestHandler.run|[HotSpot 17.0.15]", ""},
	{"Java, a request of Kafka waits for a log's lock", "futex", Park, javaPark +
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire|[HotSpot 17.0.15]\n" +
		"kafka.cluster.Partition.appendRecordsToLeader|[HotSpot 17.0.15]\n" +
		"kafka.server.KafkaRequestHandler.run|[HotSpot 17.0.15]", ""},
	{"Java, Jetty's pool", "futex", Park, javaAwait +
		"org.eclipse.jetty.util.BlockingArrayQueue.poll|[HotSpot 17.0.15]\n" +
		"org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll|[HotSpot 17.0.15]\n" +
		"org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run|[HotSpot 17.0.15]\n" +
		"java.lang.Thread.run|[HotSpot 17.0.15]", IdlePool},
	{"Java, Jetty's reserved thread", "futex", Park, javaPermit + jettyReserved, IdlePool},
	{"Java, a task of Jetty's reserved thread waits for a lock", "futex", Park, javaPark +
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire|[HotSpot 17.0.15]\n" + jettyReserved, ""},
	{"Java, a task waits for a permit", "futex", Park, javaPermit + "Shop.buy|[HotSpot 17.0.15]\n" + jettyReserved, ""},
	{"Java, a thread waits for a permit between its jobs", "futex", Park, javaPermit +
		"FetchWorker.run|[HotSpot 17.0.15]\njava.lang.Thread.run|[HotSpot 17.0.15]", ""},
	{"Java, main waits for Jetty's end", "futex", Park, javaPark +
		"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await|[HotSpot 17.0.15]\n" +
		"org.eclipse.jetty.util.thread.AutoLock$WithCondition.await|[HotSpot 17.0.15]\n" +
		"org.eclipse.jetty.util.thread.QueuedThreadPool.join|[HotSpot 17.0.15]\n" +
		"org.eclipse.jetty.server.Server.join|[HotSpot 17.0.15]\nShop.main|[HotSpot 17.0.15]", IdleAccept},
	{"Java, main waits for Tomcat's end", "futex", Sleep, cond + "JavaThread::sleep|/jvm/libjvm.so\n" +
		"java.lang.Thread.sleep|[HotSpot 17.0.15]\n" +
		"org.apache.catalina.core.StandardServer.await|[HotSpot 17.0.15]\nShop.main|[HotSpot 17.0.15]", IdleAccept},
	{"Java, main waits for grpc's end, perhaps in a shutdown that hangs", "futex", ObjectWait, cond +
		"ObjectMonitor::wait|/jvm/libjvm.so\nJVM_MonitorWait|/jvm/libjvm.so\njava.lang.Object.wait|[HotSpot 17.0.15]\n" +
		"io.grpc.internal.ServerImpl.awaitTermination|[HotSpot 17.0.15]\nShop.main|[HotSpot 17.0.15]", ""},
	{"Java, main sleeps", "futex", Sleep, cond + "JavaThread::sleep|/jvm/libjvm.so\n" +
		"java.lang.Thread.sleep|[HotSpot 17.0.15]\nShop.main|[HotSpot 17.0.15]", ""},
	{"Java, a consumer's thread", "futex", Park, javaAwait +
		"Shop.lambda$main$3|[HotSpot 17.0.15]\nShop$$Lambda.run|[HotSpot 17.0.15]\n" +
		"java.lang.Thread.run|[HotSpot 17.0.15]",
		IdlePool},
	{"Java, the main thread takes an answer", "futex", Park, javaAwait + "Shop.main|[HotSpot 17.0.15]", ""},
	{"Java, idle in a ForkJoinPool", "futex", Park, javaPark +
		"java.util.concurrent.ForkJoinPool.awaitWork|[HotSpot 17.0.15]\n" +
		"java.util.concurrent.ForkJoinPool.runWorker|[HotSpot 17.0.15]", IdlePool},
	{"Java, the pool's queue is locked by another thread", "futex", Park, javaPark +
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire|[HotSpot 17.0.15]\n" +
		"java.util.concurrent.ThreadPoolExecutor.getTask|[HotSpot 17.0.15]\n" + javaPool, ""},
	{"Java, a socket with a time-out", "poll", Descriptor, "poll|libc.so.6\nNET_Poll|libnet.so\n" +
		"sun.nio.ch.Net.poll|[HotSpot 17.0.15]\nsun.nio.ch.NioSocketImpl.park|[HotSpot 17.0.15]\n" +
		"sun.nio.ch.NioSocketImpl.implRead|[HotSpot 17.0.15]\nShop.ask|[HotSpot 17.0.15]\n" + javaPool, ""},
	{"Java, a selector", "poll", Descriptor, "poll|libc.so.6\n" +
		"sun.nio.ch.PollSelectorImpl.doSelect|[HotSpot 17.0.15]\n" +
		"Netty.run|[HotSpot 17.0.15]", IdleEventLoop},
	{"Java, a compiler's thread", "futex", Condition, cond +
		"Monitor::wait|/jvm/libjvm.so\nCompileQueue::get|/jvm/libjvm.so\n" +
		"CompileBroker::compiler_thread_loop|/jvm/libjvm.so",
		IdleRuntime},
	{"JDK 11 of Debian 11, a compiler's thread", "futex", Condition, cond + "os::PlatformEvent::park|/jvm/libjvm.so\n" +
		"Monitor::IWait|/jvm/libjvm.so\nMonitor::wait|/jvm/libjvm.so\nCompileQueue::get|/jvm/libjvm.so", IdleRuntime},
	{"JDK 25, a compiler's thread", "futex", Condition, cond + "PlatformMonitor::wait|/jvm/libjvm.so\n" +
		"Monitor::wait|/jvm/libjvm.so\nCompileQueue::get|/jvm/libjvm.so", IdleRuntime},
	{"JDK 25, what unblocks virtual threads", "futex", Condition, cond +
		"PlatformEvent::park|/jvm/libjvm.so\nJVM_TakeVirtualThreadListToUnblock|/jvm/libjvm.so\n" +
		"java.lang.VirtualThread.takeVirtualThreadListToUnblock|[HotSpot 25]\n" +
		"java.lang.VirtualThread.unblockVirtualThreads|[HotSpot 25]\njava.lang.Thread.run|[HotSpot 25]", IdleRuntime},
	{"JDK 25, the timers of a ForkJoinPool", "futex", Park, javaPark +
		"java.util.concurrent.DelayScheduler.loop|[HotSpot 25]\n" +
		"java.util.concurrent.DelayScheduler.run|[HotSpot 25]", IdlePool},
	{"JDK 25, a carrier whose virtual thread is pinned", "futex", Park, javaPark +
		"java.lang.VirtualThread.parkOnCarrierThread|[HotSpot 25]\njava.lang.VirtualThread.park|[HotSpot 25]\n" +
		"Shop.ask|[HotSpot 25]\njava.lang.VirtualThread.run|[HotSpot 25]\n" +
		"java.util.concurrent.ForkJoinPool.runWorker|[HotSpot 25]", ""},
}

var pythonIdle = []idleCase{
	{"Python, the pool's take", "futex", Semaphore, `__new_sem_wait_slow64|/usr/lib/libc.so.6
		PyThread_acquire_lock_timed|/usr/lib/libpython3.11.so.1.0
		_queue_SimpleQueue_get|/usr/lib/_queue.cpython-311-x86_64-linux-gnu.so
		_worker|[CPython 3.11.7]|/usr/lib/python3.11/concurrent/futures/thread.py
		` + pythonThread,
		IdlePool},
	{"Python, a task that waits for a task", "futex", Semaphore, pythonLock +
		"Future.result|[CPython 3.11.7]|/usr/lib/python3.11/concurrent/futures/_base.py\n" +
		"outer|[CPython 3.11.7]|/app/pools.py\n" + pythonPool, ""},
	{"Python, a consumer's thread", "futex", Semaphore, pythonLock +
		"Queue.get|[CPython 3.11.7]|/usr/lib/python3.11/queue.py\nconsume|[CPython 3.11.7]|/app/shop.py\n" +
		"" + pythonThread, IdlePool},
	{"Python, asyncio's server", "asyncio.Server.serve_forever", NoWait,
		"Server.serve_forever|[CPython 3.11.7]|/usr/lib/python3.11/asyncio/base_events.py", IdleAccept},
	{"Python without names of classes, asyncio's server", "asyncio.serve_forever", NoWait,
		"serve_forever|[CPython 3.9.2]|/usr/lib/python3.9/asyncio/base_events.py", IdleAccept},
	{"Python, a thread of a library's own", "futex", Semaphore, pythonLock +
		"ThreadedTaskDispatcher.handler_thread|[CPython 3.11.7]|/usr/lib/python3/dist-packages/waitress/task.py\n" +
		pythonThread, IdlePool},
	{"Python, a library's thread that waits for a lock of processes", "futex", Semaphore, `sem_wait|/usr/lib/libc.so.6
		SemLock.__enter__|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/synchronize.py
		Sender.run_forever|[CPython 3.11.7]|/usr/lib/python3/dist-packages/statsd/sender.py
		` + pythonThread, ""},
	{"Python, a pool's process that waits for its turn to take a task", "futex", Semaphore,
		`sem_wait|/usr/lib/libc.so.6
		SemLock.__enter__|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/synchronize.py
		` + pythonProcess, IdlePool},
	{"Python, a pool's process that takes a task", "read", NoWait, `read|/usr/lib/libc.so.6
		Connection._recv|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/connection.py
		Connection._recv_bytes|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/connection.py
		_ConnectionBase.recv_bytes|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/connection.py
		` + pythonProcess, IdlePool},
	{"Celery, a pool's process that takes a task", "read", NoWait, billiardRead +
		"_SimpleQueue.get_payload|[CPython 3.11.7]|/v/billiard/queues.py\n" +
		"Worker._make_recv_method.<locals>._recv|[CPython 3.11.7]|/v/billiard/pool.py\n" + billiardWorker, IdlePool},
	{"Celery, a task that reads from a pipe", "read", NoWait, billiardRead +
		"fetch|[CPython 3.11.7]|/app/tasks.py\n" + billiardWorker, ""},
	{"Python, a result of a process", "read", NoWait, `read|/usr/lib/libc.so.6
		Connection._recv|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/connection.py
		_ConnectionBase.recv|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/connection.py
		fetch|[CPython 3.11.7]|/app/job.py
		` + pythonThread, ""},
	{"Python, a worker's own condition", "futex", Semaphore, pythonLock +
		"worker|[CPython 3.11.7]|/app/shop.py\n" + pythonThread, byName},
	{"Python, a worker that waits for a lock", "futex", Semaphore, strings.Join(strings.Split(pythonLock, "\n")[:3],
		"\n") + "\nworker|[CPython 3.11.7]|/app/shop.py\n" + pythonThread, ""},
	{"Python, a worker that takes from a SimpleQueue of the program's file", "futex", Semaphore,
		"__new_sem_wait_slow64|/usr/lib/libc.so.6\n_queue_SimpleQueue_get_impl|/usr/bin/python3.11\n" +
			"worker|[CPython 3.11.7]|/app/shop.py\n" + pythonThread, IdlePool},
	{"free-threaded Python, a pool that takes from a SimpleQueue of the program's file", "futex", Semaphore,
		"__new_sem_wait_slow64|/usr/lib/libc.so.6\n_queue_SimpleQueue_get_impl|/usr/bin/python3.13t\n" +
			"method_vectorcall|/usr/bin/python3.13t\n" +
			"_worker|[CPython 3.13.1]|/usr/lib/python3.13t/concurrent/futures/thread.py\n" + pythonThread, IdlePool},
	{"Python, a pool's task by the name of a take", "futex", Semaphore, pythonLock +
		"fetch|[CPython 3.11.7]|/app/pools.py\nworker|[CPython 3.11.7]|/usr/lib/python3.11/multiprocessing/pool.py\n" +
		pythonThread, ""},
	{"Python, a task that takes from a queue", "futex", Semaphore, pythonLock +
		"Queue.get|[CPython 3.11.7]|/usr/lib/python3.11/queue.py\n" + pythonPool, ""},
	{"Python, the program takes an answer", "futex", Semaphore, pythonLock +
		"Queue.get|[CPython 3.11.7]|/usr/lib/python3.11/queue.py\n<module>|[CPython 3.11.7]|/app/shop.py", ""},
	{"Python, an event in a thread called background", "futex", Semaphore, pythonLock +
		"Event.wait|[CPython 3.11.7]|/usr/lib/python3.11/threading.py\nbackground|[CPython 3.11.7]|/app/shop.py\n" +
		pythonThread, ""},
	{"Python, a socket with a time-out", "poll", Descriptor, "poll|libc.so.6\n" +
		"sock_call_impl|_socket.cpython-311.so\n" +
		"ask|[CPython 3.11.7]|/app/shop.py", ""},
	{"Python, socketserver", "poll", Descriptor, "poll|libc.so.6\n" +
		"_PollLikeSelector.select|[CPython 3.11.7]|/usr/lib/python3.11/selectors.py\n" +
		"BaseServer.serve_forever|[CPython 3.11.7]|/usr/lib/python3.11/socketserver.py", IdleEventLoop},
	{"gunicorn's first process", "futex", Semaphore,
		"__new_sem_wait_slow64|/usr/lib/libc.so.6\n_queue_SimpleQueue_get_impl|_queue.cpython-311.so\n" +
			"Arbiter.wait_for_signals|[CPython 3.11.7]|/v/gunicorn/arbiter.py\n" +
			"Arbiter.run|[CPython 3.11.7]|/v/gunicorn/arbiter.py\n<module>|[CPython 3.11.7]|/v/bin/gunicorn", IdlePool},
	{"gevent's pool of threads", "futex", Semaphore,
		"__new_sem_wait_slow64|/usr/lib/libc.so.6\nacquire_with_timeout|[CPython 3.11.7]|/v/gevent/_threading.py\n" +
			"_Condition.wait|[CPython 3.11.7]|/v/gevent/_threading.py\nQueue.get|[CPython 3.11.7]|/v/gevent/_threading.py\n" +
			"_WorkerGreenlet.run|[CPython 3.11.7]|/v/gevent/threadpool.py\n_PyEval_Vector|libpython3.11.so.1.0",
		IdlePool},
	{"gevent's pool of threads, a task", "futex", Semaphore,
		"__new_sem_wait_slow64|/usr/lib/libc.so.6\nacquire_with_timeout|[CPython 3.11.7]|/v/gevent/_threading.py\n" +
			"_Condition.wait|[CPython 3.11.7]|/v/gevent/_threading.py\nbuy|[CPython 3.11.7]|/app/shop.py\n" +
			"_WorkerGreenlet.run|[CPython 3.11.7]|/v/gevent/threadpool.py\n_PyEval_Vector|libpython3.11.so.1.0", ""},
	{"gunicorn's synchronous worker", "pselect6", Descriptor, "select|libc.so.6\nselect_select_impl|select.so\n" +
		"SyncWorker.wait|[CPython 3.11.7]|/v/gunicorn/workers/sync.py\n" +
		"SyncWorker.run_for_one|[CPython 3.11.7]|/v/gunicorn/workers/sync.py", IdleEventLoop},
	{"waitress's first thread", "pselect6", Descriptor, "select|libc.so.6\nselect_select_impl|select.cpython-313.so\n" +
		"poll|[CPython 3.13.0]|/v/waitress/wasyncore.py\nloop|[CPython 3.13.0]|/v/waitress/wasyncore.py\n" +
		"BaseWSGIServer.run|[CPython 3.13.0]|/v/waitress/server.py", IdleEventLoop},
	{"Python, a loop of the program's that polls", "pselect6", Descriptor, "select|libc.so.6\n" +
		"select_select_impl|select.cpython-313.so\npoll|[CPython 3.13.0]|/app/shop.py\n" +
		"loop|[CPython 3.13.0]|/app/shop.py\nrun|[CPython 3.13.0]|/app/shop.py", ""},
}

var rubyIdle = []idleCase{
	{"Ruby, puma's worker", "futex", Condition, cond + "sleep|[Ruby 3.1.2]\nwait|[Ruby 3.1.2]\n" +
		"block (2 levels) in spawn_thread|[Ruby 3.1.2]|/gems/puma/thread_pool.rb\nsynchronize|[Ruby 3.1.2]\n" +
		"block in spawn_thread|[Ruby 3.1.2]|/gems/puma/thread_pool.rb\nstart_thread|/usr/lib/libc.so.6", IdlePool},
	{"Ruby, a request that waits", "futex", Condition, cond + "Thread::Queue#pop|[Ruby 3.4.1]\n" +
		"Shop#buy|[Ruby 3.4.1]|/app/shop.rb\n" +
		"block in Puma::ThreadPool#spawn_thread|[Ruby 3.4.1]|/gems/puma/thread_pool.rb\n" +
		"start_thread|/usr/lib/libc.so.6", ""},
	{"Ruby, puma's listener", "pselect6", Other, "select|/usr/lib/libc.so.6\nIO.select|[Ruby 3.4.1]\n" +
		"Puma::Server#handle_servers|[Ruby 3.4.1]|/gems/puma/server.rb\n" +
		"start_thread|/usr/lib/libc.so.6", IdleAccept},
	{"Ruby, unicorn's worker", "pselect6", Other, "select|/usr/lib/libc.so.6\nselect|[Ruby 3.1.2]\n" +
		"worker_loop|[Ruby 3.1.2]|/gems/unicorn/http_server.rb\n" +
		"spawn_missing_workers|[Ruby 3.1.2]|/gems/unicorn/http_server.rb\n<main>|[Ruby 3.1.2]|/bin/unicorn", IdleAccept},
	{"Ruby, a request of unicorn that waits", "pselect6", Other, "select|/usr/lib/libc.so.6\nselect|[Ruby 3.1.2]\n" +
		"buy|[Ruby 3.1.2]|/app/shop.rb\nworker_loop|[Ruby 3.1.2]|/gems/unicorn/http_server.rb\n" +
		"<main>|[Ruby 3.1.2]|/bin/unicorn", ""},
	{"Ruby, WEBrick's listener", "pselect6", Other, "select|/usr/lib/libc.so.6\nselect|[Ruby 3.1.2]\n" +
		"block in start|[Ruby 3.1.2]|/gems/webrick/server.rb\nstart|[Ruby 3.1.2]|/gems/webrick/server.rb\n" +
		"<main>|[Ruby 3.1.2]|/srv/site.rb", IdleAccept},
	{"Ruby, a worker's own condition", "futex", Condition, cond + "Thread::Mutex#sleep|[Ruby 3.4.1]\n" +
		"Thread::ConditionVariable#wait|[Ruby 3.4.1]\nShop#worker|[Ruby 3.4.1]|/app/shop.rb\n" +
		"start_thread|/usr/lib/libc.so.6", byName},
	{"Ruby, puma's worker that also waits for signals", "ppoll", ObjectWait, "ppoll|/usr/lib/libc.so.6\n" +
		"sleep|[Ruby 3.1.2]\nwait|[Ruby 3.1.2]\n" +
		"block (2 levels) in spawn_thread|[Ruby 3.1.2]|/gems/puma/thread_pool.rb\nsynchronize|[Ruby 3.1.2]\n" +
		"block in spawn_thread|[Ruby 3.1.2]|/gems/puma/thread_pool.rb\nstart_thread|/usr/lib/libc.so.6", IdlePool},
	{"Ruby, a worker that waits for a lock and signals", "ppoll", Mutex, "ppoll|/usr/lib/libc.so.6\n" +
		"Thread::Mutex#synchronize|[Ruby 3.1.2]\nShop#worker|[Ruby 3.1.2]|/app/shop.rb\n" +
		"start_thread|/usr/lib/libc.so.6", ""},
	{"Ruby, a worker that waits for a lock", "futex", Condition, cond + "Thread::Mutex#synchronize|[Ruby 3.4.1]\n" +
		"Shop#worker|[Ruby 3.4.1]|/app/shop.rb\nstart_thread|/usr/lib/libc.so.6", ""},
}

var rustIdle = []idleCase{
	{"rayon", "futex", Condition, rustCond + rayonPool, IdlePool},
	{"rayon, a job that waits for a job", "futex", Condition, rustCond + strings.ReplaceAll(rayonPool,
		"rayon_core::registry::main_loop|/app", "rayon_core::join::join_context::{{closure}}|/app\n"+
			"rayon_core::job::HeapJob::execute|/app\nrayon_core::registry::main_loop|/app"), ""},
	{"tokio, the blocking pool", "futex", Condition, rustCond +
		"tokio::runtime::blocking::pool::LockedImpl::run_worker|/app\n" +
		"tokio::runtime::blocking::pool::Inner::run|/app", IdlePool},
	{"tokio, a blocking task", "futex", Condition, rustCond + "app::ask|/app\n" +
		"tokio::runtime::blocking::pool::Task::run|/app\n" +
		"tokio::runtime::blocking::pool::LockedImpl::run_worker|/app", ""},
	{"tokio, the worker with the timers", "futex", Condition, rustCond +
		"tokio::runtime::park::Inner::park_timeout|/app\ntokio::runtime::time::Driver::park_internal|/app\n" +
		"tokio::runtime::scheduler::multi_thread::park::Inner::park_driver|/app\n" +
		"tokio::runtime::scheduler::multi_thread::worker::run|/app", IdlePool},
	{"tokio, main", "futex", Condition, rustCond +
		"tokio::runtime::park::Inner::park|/app\ntokio::runtime::context::runtime::enter_runtime|/app\n" +
		"tokio::runtime::runtime::Runtime::block_on|/app\napp::main|/app", IdlePool},
	{"tokio, a thread that asks a task", "futex", Condition, rustCond + "tokio::runtime::park::Inner::park|/app\n" +
		"tokio::runtime::runtime::Runtime::block_on|/app\napp::ask|/app", ""},
	{"tokio, a task that blocks on another", "futex", Condition, rustCond +
		"tokio::runtime::park::Inner::park|/app\ntokio::runtime::park::CachedParkThread::block_on|/app\n" +
		"app::ask|/app\ntokio::runtime::scheduler::multi_thread::worker::Context::run_task|/app", ""},
}

var nativeIdle = []idleCase{
	{"a function called as one of the machine's", "futex", Condition, cond + "CompileQueue::get|/app", ""},
	{"Boost.Asio, its own pool", "futex", Condition, cond + asioPool, IdlePool},
	{"Boost.Asio, a task of only Boost's functions", "futex", Condition, cond +
		"boost::condition_variable::wait|/app\nboost::asio::detail::executor_op::do_complete|/app\n" +
		strings.Join(strings.Split(asioPool, "\n")[2:], "\n"), ""},
	{"Asio without Boost", "futex", Condition, cond + strings.ReplaceAll(asioPool, "boost::", ""), IdlePool},
	{"Boost.Asio, a task that waits", "futex", Condition, cond + "Db::wait_free|/app\n" +
		strings.Join(strings.Split(asioPool, "\n")[2:], "\n"), ""},
	{"Erlang, a scheduler, stripped", "futex", Futex, beamWait + "|/beam.smp\nerts_schedule|/beam.smp\n" +
		"[memfd:vmem]|[memfd:vmem]\n|/beam.smp\nstart_thread|/usr/lib/libc.so.6", IdlePool},
	{"Erlang, a scheduler for native code", "futex", Futex, beamWait + "scheduler_wait|/beam.smp\n" +
		"erts_schedule|/beam.smp\nerts_dirty_process_main|/beam.smp\nstart_thread|/usr/lib/libc.so.6", IdlePool},
	{"a program's own function with the name of Erlang's", "futex", Condition, cond + "scheduler_wait|/app\n" +
		"run_job|/app\nmain|/app", ""},
	{"Erlang, the lock of a scheduler's queue, stripped", "futex", Futex, beamWait + "|/beam.smp\n" +
		"ethr_mutex_lock|/beam.smp\n|/beam.smp\nerts_schedule|/beam.smp\nstart_thread|/usr/lib/libc.so.6", ""},
	{"dnsmasq, stripped", "poll", Descriptor, "poll|libc.so.6\n|dnsmasq\n__libc_start_call_main|libc.so.6\n" +
		"__libc_start_main_impl|libc.so.6\n|dnsmasq", IdleEventLoop},
	{"a stripped program, in a function that main calls", "poll", Descriptor, "poll|libc.so.6\n|app\n|app\n" +
		"|app\n__libc_start_call_main|libc.so.6\n|app", ""},
	{"a stripped program's thread", "poll", Descriptor, "poll|libc.so.6\n|app\nstart_thread|libc.so.6", ""},
	{"FFmpeg, a thread for slices", "futex", Condition, cond + "|/usr/lib/libavutil.so.57.28.100\n" +
		"start_thread|/usr/lib/libc.so.6", IdlePool},
	{"FFmpeg, the program waits for its slices", "futex", Condition, cond + "|/usr/lib/libavutil.so.57.28.100\n" +
		"|/usr/lib/libavfilter.so.8.44.100\nmain|/usr/bin/ffmpeg\n__libc_start_call_main|/usr/lib/libc.so.6", ""},
	{"TBB, stripped", "futex", Futex, "syscall|/usr/lib/libc.so.6\n|/usr/lib/libtbb.so.12.8\n" +
		"start_thread|/usr/lib/libc.so.6", IdlePool},
	{"TBB, a task that waits for a task", "futex", Futex, "syscall|/usr/lib/libc.so.6\n|/usr/lib/libtbb.so.12.8\n" +
		"solve|/app\n|/usr/lib/libtbb.so.12.8\nstart_thread|/usr/lib/libc.so.6", ""},
	{"TBB, the program waits for its tasks", "futex", Futex, "syscall|/usr/lib/libc.so.6\n" +
		"|/usr/lib/libtbb.so.12.8\nmain|/app\n__libc_start_main|/usr/lib/libc.so.6", ""},
	{"PostgreSQL, the postmaster, stripped", "pselect6", Descriptor, "select|libc.so.6\n|postgres\n" +
		"PostmasterMain|postgres\nmain|postgres", IdleEventLoop},
	{"PostgreSQL, the autovacuum launcher, stripped", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"WaitEventSetWait|postgres\nWaitLatch|postgres\n|postgres\nStartAutoVacLauncher|postgres", IdleEventLoop},
	{"PostgreSQL, a parallel query's worker, stripped", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"WaitLatch|postgres\n|postgres\nshm_mq_receive|postgres\nPostmasterMain|postgres", ""},
	{"jemalloc's background thread, stripped", "futex", Condition, cond +
		"|/usr/lib/libjemalloc.so.2\n|/usr/lib/libjemalloc.so.2\nstart_thread|/usr/lib/libc.so.6", IdleRuntime},
	{"a lock of jemalloc's, below the program's function", "futex", Condition, cond +
		"|/usr/lib/libjemalloc.so.2\nhandle|/app\nstart_thread|/usr/lib/libc.so.6", ""},
	{"C++, the pool's take", "futex", Condition, cond + cxxPool, byName},
	{"C++, the same with the kernel's functions", "futex", Condition, kernel + cond + cxxPool, byName},
	{"C++, musl, the pool's lock", "futex", Futex, "__timedwait_cp|/lib/ld-musl-x86_64.so.1\n" +
		"__pthread_mutex_timedlock|/lib/ld-musl-x86_64.so.1\n" + cxxPool, ""},
	{"C++, work that waits for a condition", "futex", Condition, cond + "flush|/app\n" + cxxPool, ""},
	{"C++, work in a function called worker_task", "futex", Condition, cond + "worker_task|/app\n" +
		"std::function<void ()>::operator()|/app\n" + cxxPool, ""},
	{"C++, a future", "futex", Futex, `syscall|/usr/lib/libc.so.6
		std::__atomic_futex_unsigned_base::_M_futex_wait_until|/usr/lib/libstdc++.so.6
		std::__future_base::_State_baseV2::wait|/app
		std::future<int>::get|/app
		` + cxxPool, ""},
	{"C++, a wait for the pool's end", "futex", Condition, cond + "ThreadPool::wait_all|/app\nmain|/app", ""},
	{"C, work called from a worker", "futex", Condition, cond + "handle_background_request|/app\nworker|/app", ""},
	{"C, the job's name has the word", "futex", Condition, cond + "resize_image|/app\nbackground_worker|/app", ""},
	{"libuv", "futex", Condition, cond + "uv_cond_wait|/usr/bin/node\nworker|/usr/bin/node\nstart_thread|libc.so.6",
		IdlePool},
	{"libuv, a worker's condition", "futex", Condition, cond + "uv_cond_timedwait|/app\nworker_loop|/app", byName},
	{"Node, a worker", "futex", Condition, cond + "uv_cond_wait|/usr/bin/node\n" +
		"node::(anonymous namespace)::PlatformWorkerThread|/usr/bin/node\nstart_thread|libc.so.6", IdlePool},
	{"Redis", "futex", Condition, cond + "bioProcessBackgroundJobs|/redis-server\nstart_thread|libc.so.6", IdlePool},
	{"MariaDB", "futex", Condition, cond + "tpool::thread_pool_generic::wait_for_tasks|/mariadbd\n" +
		"tpool::thread_pool_generic::worker_main|/mariadbd\nstart_thread|libc.so.6", IdlePool},
	{"C++, the pool's take by a function of the class", "futex", Condition, cond +
		"app::pool::wait_for_tasks|/app\napp::pool::get_task|/app\n" +
		"app::pool::worker_main|/app\n|libstdc++.so.6\nstart_thread|libc.so.6", byName},
	{"C++, a task by functions of one class, named as takes", "futex", Condition, cond +
		"Cache::get|/app\nCache::fetch_item|/app\n" + cxxPool, ""},
	{"C++, a task that fetches an item", "futex", Condition, cond + "Cache::get|/app\nCatalog::fetch_item|/app\n" +
		cxxPool, ""},
	{"MariaDB, the next connection for a cached thread", "futex", Condition, cond +
		"do_handle_one_connection|/mariadbd\nhandle_one_connection|/mariadbd\n|/mariadbd\nstart_thread|libc.so.6",
		IdlePool},
	{"MariaDB, a metadata lock", "futex", Condition, cond + "MDL_wait::timed_wait|/mariadbd\n" +
		"MDL_context::acquire_lock|/mariadbd\n|/mariadbd\nopen_table|/mariadbd\n" + mariaDBCommand, ""},
	{"MariaDB, a row's lock", "futex", Condition, cond + "|/mariadbd\n|/mariadbd\n" +
		"handler::ha_index_read_map|/mariadbd\nmysql_update|/mariadbd\n" + mariaDBCommand, ""},
	{"MariaDB, the manager", "futex", Condition, cond + "handle_manager|/mariadbd\n|/mariadbd\n" +
		"start_thread|libc.so.6", IdlePool},
	{"MariaDB, the next connection", "poll", Descriptor, "poll|libc.so.6\nhandle_connections_sockets|/mariadbd\n" +
		"mysqld_main|/mariadbd", IdleEventLoop},
	{"MariaDB, a client's next command", "poll", Descriptor, "poll|libc.so.6\nvio_io_wait|/mariadbd\n" +
		"vio_socket_io_wait|/mariadbd\nvio_read|/mariadbd\n|/mariadbd\nmy_net_read_packet_reallen|/mariadbd\n" +
		"my_net_read_packet|/mariadbd\n" + strings.TrimPrefix(mariaDBCommand, mariaDBDispatch), IdleConnection},
	{"MariaDB, a file from the client", "poll", Descriptor, "poll|libc.so.6\nvio_io_wait|/mariadbd\n" +
		"vio_read|/mariadbd\nmy_net_read_packet|/mariadbd\n|/mariadbd\nmysql_load|/mariadbd\n" + mariaDBCommand, ""},
	{"Apache, a worker of the event module", "futex", Condition, cond + "ap_queue_pop_something|/usr/sbin/apache2\n" +
		"|/usr/lib/apache2/modules/mod_mpm_event.so\nstart_thread|libc.so.6", IdlePool},
	{"Apache, the parent of all its processes", "pselect6", Sleep, "select|libc.so.6\napr_sleep|libapr-1.so.0.7.2\n" +
		"ap_wait_or_timeout|/usr/sbin/apache2\n|/usr/lib/apache2/modules/mod_mpm_prefork.so\nap_run_mpm|/usr/sbin/apache2\n" +
		"main|/usr/sbin/apache2", IdleEventLoop},
	{"OpenLDAP's pool, stripped", "futex", Condition, cond + "|/usr/lib/libldap-2.5.so.0.1.8\nstart_thread|libc.so.6",
		IdlePool},
	{"OpenLDAP, a task that waits", "futex", Condition, cond + "bdb_lock|/usr/sbin/slapd\n" +
		"|/usr/lib/libldap-2.5.so.0.1.8\nstart_thread|libc.so.6", ""},
	{"OpenLDAP, an answer from a server", "poll", Descriptor, "poll|libc.so.6\n|/usr/lib/libldap-2.5.so.0.1.8\n" +
		"ldap_result|/usr/lib/libldap-2.5.so.0.1.8\nask|/app\nstart_thread|libc.so.6", ""},
	{"POCO, a pooled thread without a task", "futex", Condition, cond + "Poco::EventImpl::waitImpl|/clickhouse\n" +
		"Poco::PooledThread::run|/clickhouse\n" + pocoThread, IdlePool},
	{"POCO, a server's thread without a connection", "futex", Condition, cond +
		"Poco::EventImpl::waitImpl|/clickhouse\n" +
		"Poco::NotificationQueue::waitDequeueNotification|/clickhouse\n" +
		"Poco::Net::TCPServerDispatcher::run|/clickhouse\nPoco::PooledThread::run|/clickhouse\n" + pocoThread,
		IdlePool},
	{"POCO, a task that waits for an event", "futex", Condition, cond + "Poco::EventImpl::waitImpl|/clickhouse\n" +
		"DB::Exchange::send|/clickhouse\nPoco::PooledThread::run|/clickhouse\n" + pocoThread, ""},
	{"POCO, a server's next connection", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"Poco::Net::SocketImpl::poll|/clickhouse\nPoco::Net::TCPServer::run|/clickhouse\n" + pocoThread, IdleEventLoop},
	{"POCO, a client's next query", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"Poco::Net::SocketImpl::poll|/clickhouse\nDB::ReadBufferFromPocoSocket::poll|/clickhouse\n" +
		"DB::TCPHandler::runImpl|/clickhouse\n" + pocoThread, IdleConnection},
	{"ClickHouse, stripped, a client's next query", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"Poco::Net::SocketImpl::poll|/clickhouse\nDB::ReadBufferFromPocoSocket::poll|/clickhouse\n|/clickhouse\n" +
		"Poco::Net::TCPServerConnection::start|/clickhouse\n" + pocoThread, IdleConnection},
	{"POCO, another server's answer", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"Poco::Net::SocketImpl::poll|/clickhouse\nPoco::Net::Socket::poll|/clickhouse\n" +
		"DB::ReadBufferFromPocoSocket::poll|/clickhouse\nDB::Connection::poll|/clickhouse\n" + pocoThread, ""},
	{"Go, a generator of iter.Pull", "coroutine", NoWait, "runtime.coroswitch|/go\niter.Pull[go.shape.int].func1.1|/go\n" +
		"main.yields|/go\niter.Pull[go.shape.int].func1|/go\nruntime.corostart|/go\nruntime.goexit|/go", IdlePool},
	{"Go, a generator that calls another", "coroutine", NoWait, "runtime.coroswitch|/go\n" +
		"iter.Pull[go.shape.int].func2|/go\n" +
		"main.yields|/go\niter.Pull2[go.shape.int].func1|/go\nruntime.corostart|/go\nruntime.goexit|/go", ""},
	{"Go, the thread that takes signals", "futex", Park, "runtime.futex|/go\nruntime.futexsleep|/go\n" +
		"runtime.notetsleep_internal|/go\nruntime.notetsleepg|/go\nos/signal.signal_recv|/go\nos/signal.loop|/go\n" +
		"runtime.goexit|/go", IdlePool},
	{"Traffic Server, a thread for tasks", "futex", Condition, cond + "ProtectedQueue::wait|/usr/bin/traffic_server\n" +
		"EThread::execute_regular|/usr/bin/traffic_server\nEThread::execute|/usr/bin/traffic_server", IdlePool},
	{"Traffic Server, a thread for files", "futex", Condition, cond + "AIOThreadInfo::start|/usr/bin/traffic_server\n" +
		"EThread::execute|/usr/bin/traffic_server\nstart_thread|libc.so.6", IdlePool},
	{"Dovecot, a client's next command", "epoll_wait", Descriptor, dovecotLoop + "master_service_run|libdovecot.so.0\n" +
		"main|/usr/lib/dovecot/imap", IdleEventLoop},
	{"Dovecot, the answer of its authentication", "epoll_wait", Descriptor, dovecotLoop +
		"auth_master_user_lookup|libdovecot.so.0\n|libdovecot-storage.so.0\n" +
		"mail_storage_service_lookup|libdovecot-storage.so.0\n|/usr/bin/doveadm\nmain|/usr/bin/doveadm", ""},
	{"Samba, a client's next request", "epoll_wait", Descriptor, teventLoop +
		"tevent_common_loop_wait|libtevent.so.0\n|libtevent.so.0\nsmbd_process|libsmbd-base.so.0\n" +
		"|/usr/sbin/smbd\nmain|/usr/sbin/smbd", IdleEventLoop},
	{"Samba, a server's answer", "epoll_wait", Descriptor, teventLoop + "tevent_req_poll|libtevent.so.0\n" +
		"tevent_req_poll_ntstatus|libtevent-util.so.0\ncli_full_connection_creds|libsmbconf.so.0\nmain|/usr/bin/net", ""},
	{"Samba, the main loop of its servers for calls", "epoll_wait", Descriptor, teventLoop +
		"tevent_req_poll|libtevent.so.0\ntevent_req_poll_unix|libtevent-util.so.0\n" +
		"main|/usr/libexec/samba/samba-dcerpcd", IdleEventLoop},
	{"a disk read by io_getevents", "io_getevents", Other, "io_getevents|libaio.so.1\nread_block|/app\nmain|/app", ""},
	{"glib", "poll", Descriptor, "poll|libc.so.6\ng_main_context_poll|libglib-2.0.so.0\n" +
		"g_main_loop_run|libglib-2.0.so.0",
		IdleEventLoop},
	{"glib, the answer to a call", "poll", Descriptor, "poll|libc.so.6\ng_main_context_iterate|libglib-2.0.so.0\n" +
		"g_main_loop_run|libglib-2.0.so.0\ng_dbus_connection_send_message_with_reply_sync|libgio-2.0.so.0\n" +
		"refresh|/app\nmain|/app", ""},
	{"libuv, a server", "epoll_pwait", Descriptor, "epoll_pwait|libc.so.6\nuv__io_poll|/usr/bin/node\n" +
		"uv_run|/usr/bin/node\nnode::SpinEventLoopInternal|/usr/bin/node\nnode::Start|/usr/bin/node", IdleEventLoop},
	{"Node, execSync", "epoll_pwait", Descriptor, "epoll_pwait|libc.so.6\nuv__io_poll|/usr/bin/node\n" +
		"uv_run|/usr/bin/node\nnode::SyncProcessRunner::TryInitializeAndRunLoop|/usr/bin/node\n" +
		"node::SyncProcessRunner::Spawn|/usr/bin/node", ""},
	{"Node without symbols, execSync", "epoll_pwait", Descriptor, "epoll_pwait|libc.so.6\n|/usr/bin/node\n" +
		"spawnSync|[Node 20.20.2]|node:child_process\nlater|[Node 20.20.2]|/srv/n.js\n|/usr/bin/node", ""},
	{"gRPC, a call from Python", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n|cygrpc.cpython-311.so\n" +
		"_UnaryUnaryMultiCallable._blocking|[CPython 3.11.7]|/lib/python3.11/site-packages/grpc/_channel.py\n" +
		"work|[CPython 3.11.7]|g.py", ""},
	{"gRPC, a server's loop in Python", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n|cygrpc.cpython-311.so\n" +
		"_serve|[CPython 3.11.7]|/lib/python3.11/site-packages/grpc/_server.py\n" + pythonThread, IdleEventLoop},
	{"gRPC, a call from C++", "epoll_wait", Descriptor, "epoll_wait|libc.so.6\n" +
		"pollset_work(grpc_pollset*, grpc_pollset_worker**, grpc_core::Timestamp)|libgrpc.so.29\n" +
		"cq_pluck(grpc_completion_queue*, void*, gpr_timespec, void*)|libgrpc.so.29\n" +
		"grpc::internal::BlockingUnaryCallImpl<Ask, Answer>::BlockingUnaryCallImpl|/app\nmain|/app", ""},
	{"PostgreSQL, a client's next command", "epoll_wait", Descriptor,
		"epoll_wait|libc.so.6\nWaitEventSetWait|postgres\nsecure_read|postgres\npq_recvbuf|postgres", IdleEventLoop},
	{"PostgreSQL, a replica's answer", "epoll_wait", Descriptor,
		"epoll_wait|libc.so.6\nWaitEventSetWait|postgres\nWaitLatch|postgres\nSyncRepWaitForLSN|postgres", ""},
	{"a stack without names", "futex", Condition, cond + "|/app\n|/app", ""},
}

func TestOnlyTheTakeOfALoopIsIdle(t *testing.T) {
	for _, c := range slices.Concat(javaIdle, pythonIdle, rubyIdle, rustIdle, nativeIdle, libraryIdle) {
		if got := ruleOf(c.wait, c.kind, frames(c.stack)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := ruleOf(c.wait, c.kind, frames(kernel+c.stack)); got != c.want {
			t.Errorf("%s, with the kernel's functions: %q, want %q", c.name, got, c.want)
		}
	}
}

const (
	future = "Future.result|[CPython 3.11.7]|/usr/lib/python3.11/concurrent/futures/_base.py\n"
	outer  = "outer|[CPython 3.11.7]|/app/pools.py\n"
)

var workersOfPools = []struct {
	stack string
	want  PoolWorker
}{
	{javaPark + "java.util.concurrent.FutureTask.awaitDone|[HotSpot 17.0.15]\n" +
		"java.util.concurrent.FutureTask.get|[HotSpot 17.0.15]\nPools.task|[HotSpot 17.0.15]\n" + javaPool,
		PoolWorker{"java.util.concurrent.ThreadPoolExecutor.runWorker", "java.util.concurrent.FutureTask.get"}},
	{javaAwait + "Shop.serve|[HotSpot 17.0.15]\n" + javaPool,
		PoolWorker{Loop: "java.util.concurrent.ThreadPoolExecutor.runWorker"}},
	{pythonLock + future + outer + pythonPool, PoolWorker{"_worker of futures.thread", "Future.result"}},
	{pythonLock + future + outer + pythonThread, PoolWorker{}},
	{"<module>|[CPython 3.11.7]|/app/pools.py", PoolWorker{}},
	{"std::future<int>::get|/app\nouter|/app\n" + cxxPool,
		PoolWorker{"ThreadPool::ThreadPool::{lambda#1}::operator", "std::future"}},
}

func TestWorkersThatWaitForResults(t *testing.T) {
	for _, c := range workersOfPools {
		if got := PoolWorkerOf(frames(c.stack)); got != c.want {
			t.Errorf("%+v, want %+v, of\n%s", got, c.want, c.stack)
		}
	}
}

var programsFunctions = map[string]string{
	kernel + javaPark + "Pools.task|[HotSpot 17.0.15]\n" + javaPool:                       "Pools.task",
	pythonLock + "fetch|[CPython 3.11.7]|/usr/lib/python3.11/site-packages/shop/fetch.py": "fetch",
	pythonLock + pythonThread:                                      "",
	cond + "std::condition_variable::wait|/app\n" + cxxPool:        "ThreadPool::worker",
	"runtime.futex|/app\nsync.(*Mutex).Lock|/app\nmain.serve|/app": "main.serve",
	cond + "|/app": "",
	"syscall|/usr/lib/libc.so.6\nparking_lot_core::thread_parker::imp::ThreadParker::futex_wait|/app\n" +
		"<parking_lot_core::thread_parker::imp::ThreadParker as " +
		"parking_lot_core::thread_parker::ThreadParkerT>::park|/app\n" +
		"parking_lot_core::parking_lot::park|/app\nparking_lot::raw_mutex::RawMutex::lock_slow|/app\n" +
		"<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::lock|/app\n" +
		"lock_api::mutex::Mutex<R,T>::lock|/app\nshop::handle::{{closure}}|/app": "shop::handle::{{closure}}",
	cond + "parking_lot::condvar::Condvar::wait|/app\ntokio::loom::std::parking_lot::Condvar::wait|/app\n" +
		"tokio::runtime::park::CachedParkThread::block_on|/app\n" +
		"tokio::runtime::runtime::Runtime::block_on|/app\nshop::main|/app": "shop::main",
	"epoll_wait|/usr/lib/libc.so.6\ntokio::net::tcp::stream::TcpStream::readable|/app\n" +
		"<tokio::net::tcp::stream::TcpStream as shop::Peer>::ask|/app\nshop::main|/app": "" +
		"<tokio::net::tcp::stream::TcpStream as shop::Peer>::ask",
	"__lll_lock_wait|/usr/lib/libc.so.6\npthread_mutex_lock|/usr/lib/libc.so.6\ncaml_mutex_lock|/app\n" +
		"camlShop__take_84|/app\ncaml_start_program|/app": "camlShop__take_84",
	cond + "caml_thread_join|/app\ncamlThread__fun_306|/app\ncamlStdlib__List__iter_261|/app\n" +
		"camlShop__entry|/app\ncaml_program|/app\nmain|/app": "camlShop__entry",
	cond + "v8::internal::FutexEmulation::WaitSync<…>|/usr/bin/node\nv8::internal::Builtin_AtomicsWait|/usr/bin/node\n" +
		"Builtins_CEntry_Return1_ArgvOnStack_BuiltinExit|/usr/bin/node\n" +
		"waitForJob|[Node 20.20.2]|/srv/worker.js": "waitForJob",
	"absl::synchronization_internal::FutexWaiter::WaitUntil|/opt/node\nAbslInternalPerThreadSemWait|/opt/node\n" +
		"absl::CondVar::Wait|/opt/node\nv8::internal::Builtin_AtomicsWait|/opt/node\n" +
		"waitForJob|[Node 26.10.0]|/srv/worker.js": "waitForJob",
	cond + "synchronize|[Ruby 3.1.2]\nbuy|[Ruby 3.1.2]|/srv/shop.rb": "buy",
	cond + "Monitor#synchronize|[Ruby 4.0.0]\nMonitor#mon_synchronize|[Ruby 4.0.0]|/usr/lib/ruby/4.0.0/monitor.rb\n" +
		"Shop#buy|[Ruby 4.0.0]|/srv/shop.rb": "Shop#buy",
	"flock|libc.so.6\n_php_stream_set_option|/usr/bin/php8.2\n|/usr/lib/php/20220829/phar.so\nflock|[PHP 8.2.36]\n" +
		"Shop::lock|[PHP 8.2.36]|/srv/shop.php": "Shop::lock",
	"flock|libc.so.6\nphp_session_start|/usr/sbin/php-fpm8.2\nsession_start|[PHP 8.2.36]\n" +
		"index.php|[PHP 8.2.36]|/srv/index.php": "index.php",
}

func TestTheApplicationsFunctionIsFound(t *testing.T) {
	all := maps.Clone(programsFunctions)
	maps.Copy(all, libraryFunctions)
	for stack, want := range all {
		got := ""
		if i := ApplicationFunction(frames(stack)); i >= 0 {
			f := frames(stack)[i]
			got = f.Function
		}
		if got != want {
			t.Errorf("%q, want %q, of\n%s", got, want, stack)
		}
	}
}

func FuzzIdle(f *testing.F) {
	f.Add("futex", string(Condition), cond+cxxPool)
	f.Add("poll", "", "a<b(c>)|[HotSpot|x\n)))|[CPython|threading.py")
	f.Fuzz(func(_ *testing.T, wait, kind, stack string) {
		_ = Idle(wait, Kind(kind), frames(stack))
		_ = PoolWorkerOf(frames(stack))
		_ = ApplicationFunction(frames(stack))
	})
}

func TestIdleIsDecidedByNamedRules(t *testing.T) {
	for _, c := range []struct {
		wait      string
		kind      Kind
		functions []string
		want      string
	}{
		{"epoll_wait", Descriptor, []string{"epoll_wait", "WaitEventSetWait", "WaitLatch", "ProcSleep"}, ""},
		{"futex", Park, []string{"runtime.futexsleep", "runtime.notesleep", "runtime.mPark", "runtime.stopm"}, IdlePool},
		{"futex", Park, []string{"runtime.notesleep", "runtime.mPark", "runtime.stoplockedm"}, IdlePool},
		{"epoll_wait", Descriptor, nil, IdleEventLoop}, {"accept4", Descriptor, nil, IdleAccept},
		{"pause", Signal, nil, IdleSignal},
		{"futex", Condition, []string{"pthread_cond_wait", "bioProcessBackgroundJobs"}, IdlePool},
		{"futex", Condition, []string{"pthread_cond_wait", "flush"}, ""},
		{"futex", Mutex, []string{"pthread_mutex_lock", "worker_main"}, ""},
		{"read", Descriptor, []string{"read", "worker_main"}, ""},
	} {
		var stack []Frame
		for _, function := range c.functions {
			stack = append(stack, Frame{Function: function})
		}
		if got := ruleOf(c.wait, c.kind, stack); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.wait, c.functions, got, c.want)
		}
	}
}
