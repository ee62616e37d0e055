// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

// place is a function with its mapping's and its source file.
type place struct{ name, mapping, source string }

// conclude adds threads, of which each has all the time in one stack, as CPU time or in a wait, and concludes.
func conclude(t *testing.T, threads int, call, object string, stack ...place) string {
	t.Helper()
	r := newTimedRecording(10 * time.Second)
	r.mapping(stack[len(stack)-1].mapping) // of the program
	var locations []*profile.Location
	for _, p := range stack {
		l := r.location(p.name, p.mapping)
		l.Line[0].Function.Filename = p.source
		if strings.HasPrefix(p.mapping, "/usr/bin/php") {
			l.Line[0].Function.SystemName = rec.SystemNameOfType(p.name, rec.Machinery)
		}
		locations = append(locations, l)
	}
	for n := range int64(threads) {
		s := r.addStack(locations, 1000, 1e10, 0, 0)
		labels(s, 7, 100+n, rec.LabelThread, fmt.Sprintf("http-%d", n), rec.LabelState, "running")
		if call == "" {
			s.Value[3] = 1e10
		} else {
			labels(s, 7, 100+n, rec.LabelState, "sleeping", rec.LabelWait, call, rec.LabelWaitsFor, object)
		}
	}
	return r.data(t, Options{}).Conclusion()
}

func TestTheConclusionNamesWhatTheProgramCalled(t *testing.T) {
	const jvm, node, python = "[HotSpot 17.0.15]", "[Node 20.20.2]", "[CPython 3.11.2]"
	for want, got := range map[string]string{
		"busy: 100 % in validate (app.js), mostly in (regexp); 1 CPU": conclude(t, 1, "", "",
			place{"(regexp)", node, ""}, place{"Builtins_RegExpPrototypeTest", "/usr/bin/node", ""},
			place{"validate", node, "/srv/app.js"}, place{"node::Start", "/usr/bin/node", ""}),
		"mostly waiting: all 3 threads of http-* for ArrayBlockingQueue.take in Shop.borrow": conclude(t, 3, "futex",
			"park java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
			place{"jdk.internal.misc.Unsafe.park", jvm, "Unsafe.java"},
			place{"java.util.concurrent.ArrayBlockingQueue.take", jvm, "ArrayBlockingQueue.java"},
			place{"Shop.borrow", jvm, "Shop.java"}, place{"Shop.handle", jvm, "Shop.java"},
			place{"java.util.concurrent.ThreadPoolExecutor.runWorker", jvm, "ThreadPoolExecutor.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly waiting: 3 threads for Logger.info in Gate.check": conclude(t, 3, "futex",
			"park java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
			place{"jdk.internal.misc.Unsafe.park", jvm, "Unsafe.java"},
			place{"java.util.concurrent.ArrayBlockingQueue.put", jvm, "ArrayBlockingQueue.java"},
			place{"ch.qos.logback.core.AsyncAppenderBase.put", jvm, "AsyncAppenderBase.java"},
			place{"ch.qos.logback.classic.Logger.info", jvm, "Logger.java"}, place{"Gate.check", jvm, "Gate.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly waiting: 3 threads for a class's initialization in Shop.rate; see dump --locks while it waits": conclude(t, 3,
			"futex", "object-wait [I", place{"ObjectSynchronizer::wait", "/usr/lib/libjvm.so", ""},
			place{"InstanceKlass::initialize_impl", "/usr/lib/libjvm.so", ""}, place{"Shop.rate", jvm, "Shop.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"event loop blocked 100 % of the time in Gate.report; 1 thread in poll (10.0.0.1:5432) of Gate.report": conclude(t, 1,
			"poll", "socket:[7] 10.0.0.1:5432", place{"sun.nio.ch.Net.poll", jvm, "Net.java"},
			place{"org.postgresql.core.PGStream.receiveChar", jvm, "PGStream.java"}, place{"Gate.report", jvm, "Gate.java"},
			place{"io.netty.channel.nio.NioEventLoop.run", jvm, "NioEventLoop.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly asleep: 2 threads wait for events": conclude(t, 2, "epoll_wait", "anon_inode:[eventpoll]",
			place{"sun.nio.ch.EPoll.wait", jvm, "EPoll.java"}, place{"sun.nio.ch.SelectorImpl.select", jvm, "S.java"},
			place{"io.netty.channel.nio.NioEventLoop.select", jvm, "NioEventLoop.java"},
			place{"io.netty.channel.nio.NioEventLoop.run", jvm, "NioEventLoop.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly asleep: all 2 threads of http-* of the run-time system": conclude(t, 2, "futex",
			"object-wait java.lang.ref.ReferenceQueue$Lock", place{"java.lang.Object.wait", jvm, "Object.java"},
			place{"java.lang.ref.ReferenceQueue.remove", jvm, "ReferenceQueue.java"},
			place{"com.mysql.cj.jdbc.AbandonedConnectionCleanupThread.run", jvm, "A.java"},
			place{"java.util.concurrent.ThreadPoolExecutor.runWorker", jvm, "ThreadPoolExecutor.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly waiting: 3 threads in futex (a safepoint of the JVM) of Shop.list": conclude(t, 3, "futex", "futex 0x10",
			place{"LinuxWaitBarrier::wait", "/usr/lib/libjvm.so", ""},
			place{"SafepointSynchronize::block", "/usr/lib/libjvm.so", ""}, place{"Shop.list", jvm, "Shop.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly waiting: 3 threads for crossbeam_channel::Sender<T>::send in thumbs::upload": conclude(t, 3, "futex",
			"futex 0x10", place{"syscall", "/lib/libc.so.6", ""},
			place{"crossbeam_channel::Sender<T>::send", "/srv/thumbs", "/home/shop/.cargo/registry/src/x/channel.rs"},
			place{"thumbs::upload", "/srv/thumbs", "src/main.rs"}),
		"mostly waiting: 3 threads for semaphore slots in thumbs::upload": conclude(t, 3, "futex", "semaphore slots",
			place{"sem_wait", "/lib/libc.so.6", ""}, place{"pool_take", "/usr/lib/libpool.so.1", ""},
			place{"thumbs::upload", "/srv/thumbs", "src/main.rs"}),
		"busy: 100 % in notify; 1 CPU": conclude(t, 1, "", "", place{"PEM_read_bio_X509", "/usr/lib/libcrypto.so.3", ""},
			place{"curl_easy_perform", "/usr/lib/libcurl.so.4", ""}, place{"notify", "/srv/ship", ""},
			place{"main", "/srv/ship", ""}),
		"busy: 100 % in serve (mod_shop.so); 1 CPU": conclude(t, 1, "", "", place{"serve", "/usr/lib/mod_shop.so", ""},
			place{"main", "/usr/sbin/httpd", ""}),
		"mostly asleep: 3 threads sleep in App.nap": conclude(t, 3, "futex", "condition 0x10",
			place{"java.lang.Thread.sleep0", jvm, "Thread.java"}, place{"App.nap", jvm, "App.java"},
			place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly waiting: 3 threads for CompletableFuture.join in Prices.quote": conclude(t, 3, "futex",
			"park java.util.concurrent.CompletableFuture$Signaller",
			place{"jdk.internal.misc.Unsafe.park", jvm, "Unsafe.java"},
			place{"java.util.concurrent.CompletableFuture.join", jvm, "CompletableFuture.java"},
			place{"Prices$$Lambda.apply", jvm, ""},
			place{"java.util.stream.ReferencePipeline.collect", jvm, "ReferencePipeline.java"},
			place{"Prices.quote", jvm, "Prices.java"}, place{"java.lang.Thread.run", jvm, "Thread.java"}),
		"mostly waiting: 3 threads for semaphore in Queue._feed (multiprocessing)": conclude(t, 3, "futex",
			"semaphore 0x10", place{"futex_do_wait", "[kernel]", ""},
			place{"Queue._feed", python, "/usr/lib/python3.11/multiprocessing/queues.py"},
			place{"Thread.run", python, "/usr/lib/python3.11/threading.py"}),
		"busy: 100 % in discount, mostly in exceptions; 1 CPU": conclude(t, 1, "", "",
			place{"[libgcc_s.so.1] (unnamed)", "/usr/lib/libgcc_s.so.1", ""},
			place{"_Unwind_RaiseException", "/usr/lib/libgcc_s.so.1", ""},
			place{"__cxa_throw", "/usr/lib/libstdc++.so.6", ""}, place{"discount", "/srv/shop", ""},
			place{"main", "/srv/shop", ""}),
		"mostly waiting: 3 threads in wait4 (child gs, pid 9) of thumbnail (app.py); children are not recorded " +
			"(--children)": conclude(t, 3, "wait4",
			"child gs (pid 9)", place{"wait4", "/lib/libc.so.6", ""},
			place{"Popen.wait", python, "/usr/lib/python3.11/subprocess.py"}, place{"thumbnail", python, "/srv/app.py"}),
		"busy: 100 % in decode, mostly in page faults; 1 CPU": conclude(t, 1, "", "",
			place{"clear_page_erms", "[kernel]", ""}, place{"handle_mm_fault", "[kernel]", ""},
			place{"decode", "/srv/thumbs", ""}, place{"main", "/srv/thumbs", ""}),
		"busy: 100 % in append (journal.py), mostly in fsync; 1 CPU": conclude(t, 1, "", "",
			place{"fsync", "/lib/libc.so.6", ""}, place{"append", python, "/srv/journal.py"},
			place{"_PyEval_EvalFrameDefault", "/usr/bin/python3.11", ""}),
		"busy: 100 % in append, mostly in fdatasync; 1 CPU": conclude(t, 1, "", "",
			place{"fdatasync", "/lib/libc-2.31.so", ""}, place{"append", "/srv/journal", ""}),
		"busy: 100 % in append, mostly in fsync; 1 CPU": conclude(t, 1, "", "",
			place{"fsync", "/lib/ld-musl-x86_64.so.1", ""}, place{"append", "/srv/journal", ""}),
		"busy: 100 % by PHP's garbage collector; 1 CPU": conclude(t, 1, "", "",
			place{"zend_std_get_gc", "/usr/bin/php8.2", ""}, place{"zend_gc_collect_cycles", "/usr/bin/php8.2", ""},
			place{"import", "[PHP 8.2.36]", "/srv/app.php"}, place{"execute_ex", "/usr/bin/php8.2", ""}),
		"busy: 100 % by PHP's compiler; 1 CPU": conclude(t, 1, "", "",
			place{"zendparse", "/usr/bin/php8.2", ""}, place{"compile_file", "/usr/bin/php8.2", ""},
			place{"[phar.so] (unnamed)", "/usr/lib/php/20220829/phar.so", ""},
			place{"boot", "[PHP 8.2.36]", "/srv/app.php"}, place{"execute_ex", "/usr/bin/php8.2", ""}),
		"mostly asleep: 3 threads sleep in redis.Lock.acquire of sync_stock (worker.py)": conclude(t, 3, "clock_nanosleep",
			"", place{"clock_nanosleep", "/lib/libc.so.6", ""},
			place{"Lock.acquire", python, "/usr/lib/python3/dist-packages/redis/lock.py"},
			place{"Lock.__enter__", python, "/usr/lib/python3/dist-packages/redis/lock.py"},
			place{"sync_stock", python, "/srv/worker.py"}),
		"mostly waiting: 3 threads for SQLite's lock in count (app.py)": conclude(t, 3, "clock_nanosleep",
			"", place{"clock_nanosleep", "/lib/libc.so.6", ""},
			place{"sqlite3InvokeBusyHandler", "/usr/lib/libsqlite3.so.0.8.6", ""},
			place{"pysqlite_connection_execute", "/usr/lib/python3.11/lib-dynload/_sqlite3.so", ""},
			place{"count", python, "/srv/app.py"}, place{"Thread.run", python, "/usr/lib/python3.11/threading.py"}),
		"mostly asleep: 3 threads sleep in tick (app.py)": conclude(t, 3, "clock_nanosleep", "",
			place{"clock_nanosleep", "/lib/libc.so.6", ""}, place{"tick", python, "/srv/app.py"}),
		"mostly waiting: 3 threads for PostgreSQL's lock (see pg_blocking_pids) in LockRelationOid": conclude(t, 3,
			"epoll_wait",
			"descriptor eventpoll", place{"epoll_wait", "/lib/libc.so.6", ""}, place{"ProcSleep", "/usr/bin/postgres", ""},
			place{"LockRelationOid", "/usr/bin/postgres", ""}, place{"exec_simple_query", "/usr/bin/postgres", ""}),
		"mostly waiting: 3 threads for PostgreSQL's lock (see pg_blocking_pids) in heap_update": conclude(t, 3, "epoll_pwait",
			"descriptor eventpoll", place{"epoll_pwait", "/lib/libc.so.6", ""}, place{"ProcSleep", "/usr/bin/postgres", ""},
			place{"heap_update", "/usr/bin/postgres", ""}, place{"exec_simple_query", "/usr/bin/postgres", ""}),
		"mostly waiting: 3 threads for PostgreSQL's lock (see pg_blocking_pids) in heap_delete": conclude(t, 3,
			"epoll_pwait2",
			"descriptor eventpoll", place{"epoll_pwait2", "/lib/libc.so.6", ""}, place{"ProcSleep", "/usr/bin/postgres", ""},
			place{"heap_delete", "/usr/bin/postgres", ""}, place{"exec_simple_query", "/usr/bin/postgres", ""}),
		"mostly waiting: 3 threads for queue.Queue.get in connect (db.py)": conclude(t, 3, "futex",
			"semaphore 0x10 (threading.Condition)", place{"Condition.wait", python, "/usr/lib/python3.11/threading.py"},
			place{"Queue.get", python, "/usr/lib/python3.11/queue.py"}, place{"connect", python, "/srv/db.py"},
			place{"handle", python, "/srv/db.py"}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheConclusionSaysThatTasksOfTokioAreNotExaminedWhereTheyMayWait(t *testing.T) {
	work := place{"app::Work::run", "/srv/app", "src/main.rs"}
	for want, outer := range map[string]place{
		"mostly asleep: all 3 threads of http-* sleep in app::Work::run; tokio's tasks are not examined, so requests " +
			"may wait": {
			"tokio::runtime::scheduler::multi_thread::worker::run", "/srv/app", "worker.rs"},
		"mostly asleep: 3 threads sleep in app::Work::run": {"std::thread::spawn", "/srv/app", "mod.rs"},
	} {
		if got := conclude(t, 3, "clock_nanosleep", "", work, outer); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAThreadsRoleIsThatOfTheRecording(t *testing.T) {
	for role, want := range map[string]string{
		languages.RoleCompiler:    "mostly asleep: 1 thread of the run-time system",
		languages.RoleApplication: "mostly waiting: 1 thread in futex of wait",
	} {
		r := newTimedRecording(10 * time.Second)
		s := r.addStack([]*profile.Location{r.location("wait", "/usr/lib/libjvm.so")}, 1000, 1e10, 0, 0)
		labels(s, 7, 8, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelRole, role)
		if got := r.data(t, Options{}).Conclusion(); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
}

func TestTheConclusionNamesTheLibraryInWhoseSelectGoroutinesWait(t *testing.T) {
	const program, src = "/srv/shop", "/usr/local/go/src/"
	for want, called := range map[string][]place{
		"mostly waiting: about 1 goroutine in select (net/http.Get) of main.fetch": {
			{"net/http.(*persistConn).roundTrip", program, src + "net/http/transport.go"},
			{"net/http.Get", program, src + "net/http/client.go"}},
		"mostly waiting: about 1 goroutine in select (golang.org/x/time/rate.(*Limiter).Wait) of main.fetch": {
			{"golang.org/x/time/rate.(*Limiter).Wait", program, "golang.org/x/time@v0.5.0/rate/rate.go"}},
		"mostly waiting: about 1 goroutine in select of main.fetch": nil,
	} {
		r := newTimedRecording(10 * time.Second)
		r.mapping(program)
		stack := append([]place{{"runtime.gopark", program, src + "runtime/proc.go"},
			{"runtime.selectgo", program, src + "runtime/select.go"}}, called...)
		var locations []*profile.Location
		for _, p := range append(stack, place{"main.fetch", program, "/home/shop/main.go"}) {
			l := r.location(p.name, p.mapping)
			l.Line[0].Function.Filename = p.source
			locations = append(locations, l)
		}
		s := r.addStack(locations, 0, 1e10, 0, 0)
		labels(s, 7, 0, rec.LabelTask, "goroutine", rec.LabelState, "sleeping", rec.LabelWait, "select")
		if got := r.data(t, Options{}).Conclusion(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestACallBelowJavaScriptHoldsNodesEventLoopInItsMainThread(t *testing.T) {
	for tid, want := range map[int64]string{
		7: "event loop blocked 100 % of the time in resize (app.js); 1 thread in epoll_pwait (eventpoll) of resize (app.js)",
		8: "mostly waiting: 1 thread in epoll_pwait (eventpoll) of resize (app.js)",
	} {
		r := newTimedRecording(10 * time.Second)
		r.mapping("/usr/bin/node")
		var locations []*profile.Location
		for _, p := range []place{{"uv_run", "/usr/bin/node", ""}, {"node::SyncProcessRunner::Spawn", "/usr/bin/node", ""},
			{"spawnSync", "[Node 20.20.2]", "node:child_process"}, {"resize", "[Node 20.20.2]", "/srv/app.js"},
			{"node::Start", "/usr/bin/node", ""}} {
			l := r.location(p.name, p.mapping)
			l.Line[0].Function.Filename = p.source
			locations = append(locations, l)
		}
		s := r.addStack(locations, 1000, 1e10, 0, 0)
		labels(s, 7, tid, rec.LabelState, "sleeping", rec.LabelWait, "epoll_pwait", rec.LabelWaitsFor, "eventpoll:[7]")
		if got := r.data(t, Options{}).Conclusion(); got != want {
			t.Errorf("thread %d: %q, want %q", tid, got, want)
		}
	}
}
