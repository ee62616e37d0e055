// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
)

// patterns are regular expressions, of one library as text (string), or of all (*regexp.Regexp). They are matched in
// stacks of any language; package languages has those for the frames of one language. Each needs an example
// (rules_test.go).
type patterns[P any] struct {
	Name string

	Library  P // never the program's; matched at the beginning of a name
	Forwards P // only forward a wait
	Result   P // wait for a task's result, or for a lock

	AwaitsWork P // a worker of a pool waits in them for work, unless called by Subtask
	Subtask    P // wait for the end of a task
	EventWaits P // a worker without work waits in them for events

	// The waiting function waits for work if it matches SchedulerWait and its caller matches Scheduler. A stripped program
	// has the name "". The pair may also be the outermost function that only forwards the wait, and its caller.
	Scheduler, SchedulerWait P

	ForwardingLoop P // loop of a pool whose functions all forward waits
	LoopWait       P // between ForwardingLoop and the C library

	WorkerFiles  P // of workers only
	ServiceFiles P // of the library's own threads

	EventLoop P
	ReplyLoop P // work runs an event loop below them until a reply is there

	AnyWait  P // wait for an event: for work if called by MainLoop, else within work
	MainLoop P

	OnePoll     P // wait for one descriptor, also by epoll
	Message     P // read a message
	MessageLoop P // call Message for a client's next request
}

var libraries = []patterns[string]{
	{Name: "C library",
		Library: `^(__|_start$|clone3?$|start_thread$|pthread_|futex_|lll_)`,
		Forwards: wholeSymbol(`pthread_(cond|mutex|rwlock)_\w+|\w*sem_(wait|timedwait|clockwait)\w*|futex_\w+|` +
			`\w*lll_\w*wait\w*|do_futex_wait|syscall|epoll_p?wait2?|p?poll|p?select6?`),
		Result: `pthread_(mutex|rwlock)_\w*lock`,
	},
	{Name: "C++ library",
		Library:  `^(std|__gnu_cxx)::`,
		Forwards: `^(std|__gnu_cxx)::`,
		Result: `std::(__1::)?(__)?(basic_)?(shared_)?(future|__future_base|promise|latch|barrier)|` +
			`std::(__1::)?__assoc|_M_futex_wait|std::thread::join`,
	},
	{Name: "Boost, asio",
		Library:        `^boost::`,
		Forwards:       `^boost::`,
		Result:         `boost::(unique_)?(future|thread::join)`,
		ForwardingLoop: `asio::detail::scheduler::do_run_one`,
		LoopWait:       `^(boost::)?asio::detail::(posix|conditionally_enabled|std)_event::`,
	},
	{Name: "abseil",
		Library:  `^absl::|^_?Absl`,
		Forwards: `^absl::|^_?Absl`,
		Result:   `Mutex::LockSlow`,
	},
	{Name: "folly", Forwards: `^folly::`},
	{Name: "Rust's standard library",
		Library:  `^(<?(core|alloc)::|<std::|<[^:]* as (std|core|alloc)::)`,
		Forwards: `^<?(core|alloc)::|^<std::`,
		Result: `futex_mutex|mutex::futex|rwlock::futex|std::sync::barrier::|` +
			`std::thread::scoped::scope`,
	},
	{Name: "parking_lot",
		Library:  `^(parking_lot|lock_api)|^<(parking_lot|lock_api).* as (std|core|alloc|lock_api|parking_lot)`,
		Forwards: `parking_lot`,
		Result:   `raw_mutex|raw_rwlock`,
	},
	{Name: "crossbeam", Forwards: `^crossbeam_(channel::|utils::sync::parker)`},
	{Name: "tokio",
		Library: `^tokio::|^<tokio::.* as (std|core|alloc|tokio)::`,
		AwaitsWork: `^tokio::runtime::(scheduler::multi_thread::(worker::Context::park\w*|park::)|` +
			`blocking::pool::\w+::run(_worker)?$)`,
		EventWaits: `^tokio::runtime::`,
		Forwards:   `^tokio::runtime::(park|context|runtime|scheduler::\w+::\w+::block_on)`,
		Scheduler:  `^[\w:]+::main$`, SchedulerWait: `^tokio::runtime::runtime::Runtime::block_on$`,
	},
	{Name: "rayon",
		AwaitsWork: `^rayon_core::sleep::Sleep::sleep$`,
		Subtask:    `^rayon_core::(job|join|latch|scope)|in_worker`,
	},
	{Name: "Go",
		Result:     `runtime\.lock2`,
		AwaitsWork: `^(runtime\.(stopm|stoplockedm|findRunnable|templateThread|startlockedm)|os/signal\.signal_recv)$`,
	},
	{Name: "Erlang",
		Forwards:  wholeSymbol(`ethr_event_twait`),
		Scheduler: `^erts_schedule$`, SchedulerWait: `^(scheduler_wait)?$`,
	},
	{Name: "OCaml", // modules of its library; 5.x has a dot
		Library: `^caml_|^caml(Stdlib|Thread|Mutex|Condition|Unix|UnixLabels|CamlinternalLazy)(__|\.)`,
	},
	{Name: "DuckDB", AwaitsWork: `^duckdb::TaskScheduler::ExecuteForever$`},
	{Name: "cpp-httplib", AwaitsWork: `^httplib::ThreadPool::worker::operator`},
	{Name: "FFmpeg", WorkerFiles: `^libavutil\.so`},
	{Name: "oneTBB", WorkerFiles: `^libtbb\.so`},
	{Name: "OpenMP: libgomp, libomp",
		Forwards:   wholeSymbol(`gomp_(team_|simple_)?barrier_wait\w*|do_(wait|spin)|futex_wait`),
		AwaitsWork: `^gomp_thread_start\b`, WorkerFiles: `^(libgomp|libomp|libiomp5)[-.]`,
	},
	{Name: "OpenBLAS", AwaitsWork: `^blas_thread_server\b`, WorkerFiles: `^lib(scipy_)?openblas`},
	{Name: "jemalloc", ServiceFiles: `^libjemalloc\.so`},
	{Name: "GLib",
		Library:     `^g_(cond|main)_`,
		Forwards:    wholeSymbol(`g_cond_wait(_until)?`),
		WorkerFiles: `^libglib-2\.`,
		ReplyLoop:   `^g_\w+_sync$`,
	},
	{Name: "Qt",
		Forwards:    `^QWaitCondition::|^QSemaphore::`,
		WorkerFiles: `^libQt[56]Core\.`,
	},
	{Name: "libuv",
		Forwards:  wholeSymbol(`uv_(cond_wait|cond_timedwait|sem_wait)|uv__(sem_wait|custom_sem_wait)`),
		Scheduler: `^worker$`, SchedulerWait: `^uv_cond_wait$`,
	},
	{Name: "Node",
		AwaitsWork: `^node::\(anonymous namespace\)::PlatformWorkerThread$`,
		ReplyLoop:  `^node::SyncProcessRunner::`,
	},
	{Name: "gRPC", ReplyLoop: `^(grpc_completion_queue_pluck|cq_pluck)\b`},
	{Name: "libev", EventLoop: `(?i)\bev_run`},
	{Name: "MySQL, MariaDB",
		Library: `^(os_event|MDL_wait)::`, Forwards: `^os_event::`,
		AwaitsWork: `^(do_handle_one_connection|handle_manager|slave_deadlock_handler|` +
			`Per_thread_connection_handler::block_until_new_connection|Event_queue::cond_wait|` +
			`tpool::thread_pool_generic::wait_for_tasks|` +
			`log_(writer|flusher|write_notifier|flush_notifier|checkpointer|files_governor)|` +
			`(srv_(error_monitor|monitor|purge_coordinator)|lock_wait_timeout|buf_(dump|resize)|dict_stats)_thread|` +
			`ib_wqueue_timedwait|Clone_persist_gtid::periodic_write)$`,
		EventLoop:   `(?i)^handle_connections_sockets$`,
		Message:     `^(vio_\w+|(my_)?net_read_\w+|my_net_read|Protocol_classic::\w+)$`,
		MessageLoop: `^do_command$`,
	},
	{Name: "Redis", AwaitsWork: `^bioProcessBackgroundJobs$`},
	{Name: "Apache", AwaitsWork: `^ap_queue_pop_something$`, EventLoop: `(?i)^ap_wait_or_timeout$`},
	{Name: "Traffic Server", AwaitsWork: `^(ProtectedQueue::wait|AIOThreadInfo::start)$`},
	{Name: "Dovecot",
		AnyWait:  `^io_loop_(handler_)?run(_internal)?$`,
		MainLoop: `^master_service_run$`,
	},
	{Name: "Samba's tevent", ReplyLoop: `^tevent_req_poll_ntstatus$`},
	{Name: "OpenLDAP", WorkerFiles: `^libldap(_r)?[-.]`},
	{Name: "POCO, ClickHouse",
		Forwards:    `^Poco::(EventImpl::wait|NotificationQueue::waitDequeue|Net::Socket(Impl)?::poll)`,
		AwaitsWork:  `^Poco::(PooledThread|Net::TCPServerDispatcher)::run$`,
		EventLoop:   `(?i)^Poco::Net::TCPServer::run$`,
		OnePoll:     `^Poco::Net::SocketImpl::poll$`,
		Message:     `^DB::ReadBufferFromPocoSocket::`,
		MessageLoop: `^(DB::TCPHandler::run(Impl)?|Poco::Net::TCPServerConnection::start)$`,
	},
	{Name: "PostgreSQL",
		Library:   `^(WaitEventSetWait|WaitLatch|ProcSleep|WaitOnLock|LockAcquire(Extended)?|PGSemaphoreLock)$`,
		EventLoop: `(?i)^PostmasterMain$`,
		AnyWait:   `^(WaitEventSet|WaitLatch)`,
		MainLoop:  `^(secure_read|ServerLoop|\w+Main(Loop)?|StartAutoVacLauncher)$`,
	},
	{Name: "Twisted", EventLoop: `(?i)doPoll|doSelect|doIteration`},
	{Name: "gunicorn", EventLoop: `(?i)SyncWorker\.wait`},
	{Name: "event loops by their names", EventLoop: `(?i)` + eventLoopWords},
}

// wholeSymbol allows leading underscores, a version, and a suffix such as a clone's.
func wholeSymbol(names string) string { return `^_*(` + names + `)(@.*|\.\w+)*$` }

// libs are the unions of all libraries' patterns.
var libs = compile(libraries)

func compile(all []patterns[string]) (libs patterns[*regexp.Regexp]) {
	to := reflect.ValueOf(&libs).Elem()
	for i := 1; i < to.NumField(); i++ {
		var parts []string
		for j := range all {
			if pattern := reflect.ValueOf(all[j]).Field(i).String(); pattern != "" {
				parts = append(parts, "(?:"+pattern+")")
			}
		}
		union := strings.Join(parts, "|")
		if to.Type().Field(i).Name == "Library" { // one anchor is a hundred times as fast as one in each
			union = "^(" + union + ")"
		}
		to.Field(i).Set(reflect.ValueOf(regexp.MustCompile(union)))
	}
	return libs
}

var (
	poolRegexp    = regexp.MustCompile(`(?i)` + poolWords)
	loopRegexp    = regexp.MustCompile(`(?i)` + loopWords)
	notLoopRegexp = regexp.MustCompile(`(?i)` + notLoopWords)
	nextWork      = regexp.MustCompile(`(?i)` + nextWorkWords)
)

const (
	// A pool's functions have poolWords. A loop's last part has one of loopWords, none of notLoopWords; that of the
	// function by which it waits for work has nextWorkWords.
	poolWords = `worker|thread_?pool|idle|background|(job|work|task)_?queue|consumer|consume|next_?(task|job)`
	loopWords = `work|loop|run|main|thread|execute|operator|lambda|service|background|idle|consum|` +
		`jobs?$|entry|serve|launch|next`
	notLoopWords = `(wait_?(all|done|idle|for|until|finish|complet|empty)|join|submit|enqueue|stop|` +
		`shutdown|drain|flush|sync|call|invoke|result|block$|add|put|push)`

	nextWorkWords = `^((get|take|next|fetch|pop|poll|de_?queue)_?(a_?)?(next_?)?(work|task|job|item)?s?|` +
		`wait_?(for_?)?(work|tasks?|jobs?))$`

	eventLoopWords = `event_?base_?loop|event_?loop|main_?loop|main_?context|run_?loop|run_once|serve_forever|` +
		`run_forever|process_?events|event_?dispatcher|(poll|select)_?dispatch|dispatch_?loop|server_?loop|reactor|` +
		`poll_?loop|select_?loop|io_?loop|Poller|xpoll`
)

// These functions of glibc and musl call only main.
var mainCallers = regexp.MustCompile(`^(__libc_start_call_main|libc_start_main_stage2)$`)

// systemFiles are base names of files whose functions only forward a wait.
var systemFiles = regexp.MustCompile(`^((libc|libm|libdl|librt|libpthread)(-\d[\d.]*)?\.so|libc\.musl-|` +
	`ld(64|-linux[\w-]*|-musl-\w+|-\d[\d.]*)?\.so|(libstdc\+\+|libc\+\+(abi)?|libgcc_s)(-[\w-]+)?\.so|` +
	`\[vdso\]|\[kernel\])`)

// isMusl reports whether a path is that of musl's library, which is also the dynamic loader.
func isMusl(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "ld-musl-") || strings.HasPrefix(base, "libc.musl-") ||
		base == "libc.so" && strings.Contains(file, "musl")
}

// IsLibrary reports whether a function is of the language's or the system's libraries, not the program's. Installed
// packages of a language are the program's.
func IsLibrary(f Frame) bool {
	if l := f.language(); l != nil && l.Library != nil {
		return l.Library(f.Function, f.File)
	}
	file := path.Base(f.Module)
	return systemFiles.MatchString(file) || libs.Library.MatchString(f.Function) ||
		languages.Matches(file, func(l *languages.Language) *regexp.Regexp { return l.System.LibraryFiles }) ||
		languages.Matches(f.Function, func(l *languages.Language) *regexp.Regexp { return l.System.LibraryFunctions })
}

func isApplicationFunction(f Frame) bool {
	return f.Function != "" && !strings.HasPrefix(f.Function, "[") && !IsLibrary(f)
}

// WaitingFunction returns the index of the function that represents a wait: the application's innermost, else the
// innermost that does more than forward it, else the outermost that forwards it.
func WaitingFunction(stack []Frame) int {
	if i := ApplicationFunction(stack); i >= 0 {
		return i
	}
	s := splitStack(stack)
	var waiter Frame
	switch {
	case len(s.outer) > 0:
		waiter = s.outer[0]
	case len(s.inner) > 0: // all only forward it
		waiter = s.inner[len(s.inner)-1]
	default:
		return 0
	}
	return max(0, slices.IndexFunc(stack, func(f Frame) bool {
		return f.Function == waiter.Function && f.File == waiter.File && path.Base(f.Module) == waiter.Module
	}))
}

// ApplicationFunction returns the index of the application's innermost function, −1 for none.
func ApplicationFunction(stack []Frame) int { return slices.IndexFunc(stack, isApplicationFunction) }
