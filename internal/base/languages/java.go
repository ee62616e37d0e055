// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

var java = Language{
	Runtimes: []string{"HotSpot"}, Kind: "jvm",
	Hints: []Hint{{
		Runtime: "HotSpot", Code: "Java code, compiled or interpreted by the JVM",
		Remedy: "run jcmd PID Compiler.perfmap (JDK 17 and later), then AGAIN: it names the code compiled by then",
		Live:   true,
		Files:  regexp.MustCompile(`^libjvm\.so`),
	}},
	Stub: func(function string) bool {
		return function == "call_stub" || strings.HasPrefix(function, "StubRoutines")
	},
	Library:   func(function, _ string) bool { return javaLibrary.MatchString(function) },
	Installed: javaInstalled.MatchString,
	Package:   func(function, file string) string { return cmp.Or(javaPackage(function), file) },
	Task:      VirtualThreadTask,
	// The class starts VirtualThread-unblocker and -unparker.
	Unthreaded: VirtualThreads, UnthreadedNext: "jcmd PID Thread.dump_to_file FILE lists them",
	Schedules: func(thread, function, _, _ string) bool {
		return strings.HasPrefix(thread, "VirtualThread-") || strings.HasPrefix(function, "java.lang.VirtualThread.")
	},
	Waits: Waits{
		Forwards: func(function, _ string) bool {
			return javaForwards.MatchString(function) || javaQueues.MatchString(function)
		},
		Starts: func(function, _ string) bool { return javaStarts.MatchString(function) },
		Takes:  func(function, _ string) bool { return javaQueues.MatchString(function) },
		Pool: func(function, _ string) string {
			if javaLoops.MatchString(function) {
				return function
			}
			return ""
		},
		Pooled: func(function, _ string) bool { return javaPools.MatchString(function) },
		Result: func(function, _ string) (name string, more bool) {
			if javaResults.MatchString(function) {
				name = function
			}
			return name, strings.HasPrefix(function, "java.util.concurrent.")
		},
		Lock:   regexp.MustCompile(`AbstractQueued(Long)?Synchronizer\.(acquire|doAcquire)|StampedLock\.`),
		Permit: regexp.MustCompile(`^java\.util\.concurrent\.Semaphore\.(try)?[aA]cquire`),
		Sleeps: func(function string) bool { return strings.HasPrefix(function, "java.lang.Thread.sleep") },
		Accepts: func(function, _ string) bool {
			last := LastComponent(function)
			return strings.HasPrefix(function, "sun.nio.ch.") && (last == "accept" || last == "implAccept")
		},
		Serves: regexp.MustCompile(`^(org\.apache\.catalina\.core\.StandardServer\.await|` +
			`org\.eclipse\.jetty\.util\.thread\.QueuedThreadPool\.join)$`), // not grpc's, as a shutdown awaits that, too
		Selects: func(function, _ string) bool {
			return strings.HasPrefix(function, "sun.nio.ch.") && strings.Contains(function, "SelectorImpl.")
		},
		Own: func(function, caller string) bool {
			return strings.HasPrefix(function, "java.lang.ref.ReferenceQueue.remove") || javaOwn.MatchString(function) &&
				(caller == "" || strings.Contains(caller, "java.lang.ref.") || javaOwn.MatchString(caller))
		},
	},
	System: System{
		Files:        regexp.MustCompile(`^(libjvm|libjava|libnio|libnet)\.so`),
		LibraryFiles: regexp.MustCompile(`^(libjvm|libjli|libjava|libnio|libnet)\.so`),
		NativeForwards: regexp.MustCompile(`^(os::)?Platform(Monitor|Event|Mutex|Parker)::|^Monitor::I?[Ww]ait|` +
			`^PosixSemaphore::|^Semaphore::wait|^Parker::park|^Unsafe_Park|^JVM_MonitorWait|^ObjectMonitor::wait|` +
			`^ObjectSynchronizer::wait`),
		NativeOwn: func(module, function string) bool {
			return module == "libjvm.so" && jvmOwn.MatchString(function)
		},
		Launcher: regexp.MustCompile(`^libjli\.so$`),
	},
}

// JavaLibrary reports whether a method is of the JDK or of a language's library.
func JavaLibrary(method string) bool { return javaLibrary.MatchString(method) }

var javaLibrary = regexp.MustCompile(`^(java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy|clojure)\.|` +
	`^(call_stub|StubRoutines|[iv]table stub)|Lambda(\$\d+)?(/0x\w+)?\.\w+$`)

// javaInstalled are root packages of libraries in wide use, selected by hand: others count as the program's own.
var javaInstalled = regexp.MustCompile(`^(ch\.qos|com\.(fasterxml|github\.benmanes|google\.(common|gson|protobuf)|` +
	`microsoft\.sqlserver|mysql|rabbitmq|zaxxer)|io\.(grpc|lettuce|micrometer|netty|undertow|vertx)|oracle\.(jdbc|net)|` +
	`okhttp3|okio|org\.(apache\.(catalina|commons|coyote|http|kafka\.clients|logging|tomcat)|eclipse\.jetty|h2|` +
	`hibernate|mariadb\.jdbc|postgresql|slf4j|springframework|xnio)|reactor|redis\.clients)\.`)

// IsSafepoint reports a function in which a thread waits for the end of a safepoint (runtime/safepoint.cpp).
func IsSafepoint(function, file string) bool {
	return function == "SafepointSynchronize::block" && path.Base(file) == "libjvm.so"
}

// AwaitsOperation reports a function in which a thread waits until the VM Thread has run an operation, such as a
// collection (since JDK 15).
func AwaitsOperation(function, file string) bool {
	return function == "VMThread::wait_until_executed" && path.Base(file) == "libjvm.so"
}

// FullCollections names SerialGC's full collections that failed allocations cause.
const FullCollections = "the JVM's full collections (allocations failed: jmap -histo PID shows the heap)"

// IsFullCollection reports the function in which SerialGC collects the whole heap, also for System.gc().
func IsFullCollection(function, _ string) bool { return function == "SerialHeap::do_full_collection" }

// IsFailedAllocation reports the function that collects because an allocation failed.
func IsFailedAllocation(function, _ string) bool {
	return function == "SerialHeap::satisfy_failed_allocation"
}

// InitializesClass reports a function in which a thread initializes a class, or waits until another thread has
// (InstanceKlass::initialize_impl, JVMS 5.5).
func InitializesClass(function, _ string) bool {
	return strings.HasPrefix(function, "InstanceKlass::initialize")
}

// IsNettyTurn reports whether a function is a turn of Netty's event loop, or of XNIO's.
func IsNettyTurn(function string) bool {
	return strings.HasSuffix(function, ".run") && nettyTurn.MatchString(function)
}

var nettyTurn = regexp.MustCompile(`\bio\.netty\.(\w+\.)*(Nio|Epoll|IOUring|SingleThreadIo)EventLoop\.run$|` +
	`^org\.xnio\.nio\.WorkerThread\.run$`)

// IsLambda reports whether a function is that of a lambda's object, which a library calls.
func IsLambda(function string) bool { return strings.Contains(function, "$$Lambda") }

var javaForwards = regexp.MustCompile(`^((jdk\.internal\.misc|sun\.misc)\.Unsafe\.park|java\.lang\.Object\.wait|` +
	`java\.util\.concurrent\.(locks\.|Semaphore\.(try)?[aA]cquire)|` +
	`org\.eclipse\.jetty\.util\.thread\.AutoLock\$WithCondition\.await|` +
	`java\.util\.concurrent\.ForkJoinPool\.(un)?(managed|compensated)?[bB]lock|sun\.nio\.ch\.|jdk\.internal\.vm\.)`)

var javaQueues = regexp.MustCompile(`^java\.util\.concurrent\.(Linked|Array|Priority|Delay|Synchronous)\w*` +
	`(Queue|Deque)(\$\w+)*\.(take|poll|transfer|await|xfer|takeFirst|takeLast|pollFirst)|` +
	`DelayedWorkQueue\.(take|poll)|^org\.eclipse\.jetty\.util\.BlockingArrayQueue\.(take|poll)`)

var javaStarts = regexp.MustCompile(`^(java\.lang\.Thread\.(run|runWith)|java\.lang\.VirtualThread\.run|` +
	`jdk\.internal\.vm\.\S+|jdk\.internal\.misc\.InnocuousThread\.run)$|` +
	`Lambda(\$\d+)?(/0x\w+)?\.(run|call|apply|accept|get)$`)

var javaPools = regexp.MustCompile(`(^|\.)ThreadPoolExecutor\.getTask$|` +
	`^java\.util\.concurrent\.ForkJoinPool\.(awaitWork|runWorker|scan)$|^java\.util\.TimerThread\.mainLoop$|` +
	`SingleThreadEventExecutor\.takeTask$|QueuedThreadPool(\$Runner)?\.(idleJobPoll|run)$|` +
	`ReservedThreadExecutor\$ReservedThread\.(waitForTask|reservedWait)$|` +
	`^kotlinx\.coroutines\.scheduling\.CoroutineScheduler\$Worker\.(park|tryPark)$|` +
	`^java\.util\.concurrent\.DelayScheduler\.|^kafka\.network\.RequestChannel\.receiveRequest$|` +
	`^org\.apache\.kafka\.queue\.KafkaEventQueue\$EventHandler\.handleEvents$|` +
	`^kafka\.server\.ClientQuotaManager\$ThrottledChannelReaper\.doWork$|` +
	`^org\.apache\.kafka\.server\.util\.timer\.SystemTimer\.advanceClock$|\.takeNextOfflineLogDir$`)

var (
	javaLoops   = regexp.MustCompile(`(^|\.)(ThreadPoolExecutor\.runWorker|ForkJoinPool\.runWorker)$`)
	javaResults = regexp.MustCompile(`^java\.util\.concurrent\.(FutureTask\.get|CompletableFuture\.(get|join)|` +
		`ForkJoinTask\.(get|join|invoke|quietlyJoin)|AbstractExecutorService\.invoke(All|Any))$`)
)

// jvmOwn is of native threads.
var (
	javaOwn = regexp.MustCompile(`^(java\.lang\.ref\.Reference\.waitForReferencePendingList|` +
		`java\.lang\.ref\.(Finalizer\$FinalizerThread\.run|NativeReferenceQueue\.\w+|ReferenceQueue\.\w+)|` +
		`java\.lang\.VirtualThread\.(takeVirtualThreadListToUnblock|unblockVirtualThreads)|` +
		`jdk\.internal\.ref\.CleanerImpl\.run)$`)
	jvmOwn = regexp.MustCompile(`^(CompileQueue::get|CompileBroker::\w+_loop|(GangWorker|` +
		`WorkerThread|WorkGang)::(loop|run)|` +
		`AbstractGangTask|VMThread::(wait_for_\w+|loop|run|inner_execute)|` +
		`(\w+::)*(run_(service|thread)|sleep_before_next_cycle|` +
		`wait_for_\w+|sleeper?_loop|sweeper_loop|possibly_sleep)|\w+::\w+_thread_entry|WatcherThread::(sleep|run)|` +
		`signal_thread_entry|os::signal_wait|JVM_WaitForReferencePendingList|` +
		`[XZ](Uncommitter::wait|Unmapper::dequeue|DriverPort::receive)|` +
		`SemaphoreGangTaskDispatcher::\w+|Threads::destroy_vm)$`)
)

func javaPackage(method string) string {
	method, _, _ = strings.Cut(method, "(")
	method = method[strings.LastIndexByte(method, ' ')+1:] // after the result's type
	method, _, _ = strings.Cut(method, "/")                // a hidden class has its number after it
	parts := strings.Split(method, ".")
	class := slices.IndexFunc(parts, func(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' })
	if class < 0 {
		class = max(0, len(parts)-2)
	}
	return strings.Join(parts[:class], ".")
}

// TASK_COMM_LEN − 1 (include/linux/sched.h)
const kernelName = 15

// jvmThreads are names in JDK 9 to 28; "*" is a number or word. Serial GC runs in "VM Thread". JDK 8 sets no names.
var jvmThreads = map[string][]string{
	RoleGC: {
		"GC Thread#*", "G1 *", "ParGC Thread#*", "ZDirector", "ZDriver*", "ZStat", "ZWorker*", "ZUnmapper",
		"ZUncommitter*", "ZRuntimeWorker*", "XDirector", "XDriver*", "XStat", "XWorker*", "XUnmapper",
		"XUncommitter*", "Shenandoah *", "Concurrent Mark-Sweep GC Thread", "Epsilon*",
	},
	RoleCompiler: {"C1 CompilerThre*", "C2 CompilerThre*", "JVMCI CompilerT*", "Libgraal Compil*"},
	RoleMachine: {
		"VM Thread", "VM Periodic Task Thread", "Signal Dispatcher", "Service Thread", "Monitor Deflation Thread",
		"Attach Listener", "Notification Thread", "Sweeper thread", "Reference Handler", "Finalizer", "Common-Cleaner",
		"AsyncLog Thread", "JFR *",
	},
}

// JVMThread returns a thread's role by its name, which the kernel may have cut.
func JVMThread(thread string) string {
	for role, names := range jvmThreads {
		for _, name := range names {
			begin, open := strings.CutSuffix(name, "*")
			cut := len(thread) == kernelName && strings.HasPrefix(begin, thread)
			if thread == begin && !open || open && strings.HasPrefix(thread, begin) || cut {
				return role
			}
		}
	}
	return RoleApplication
}
