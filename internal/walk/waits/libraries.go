// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"
)

// library has regular expressions, matched in stacks of any language. Package languages has those for the frames of one
// language. Each needs an example (rules_test.go).
type library struct {
	name   string
	frames framePatterns
	pool   poolPatterns
	events eventPatterns
}

// framePatterns match functions of any stack.
type framePatterns struct {
	Library  string // never the program's; matched at the beginning of a name
	Forwards string // only forward a wait
	Result   string // wait for a task's result, or for a lock
}

// poolPatterns find waits of a pool's workers for work.
type poolPatterns struct {
	AwaitsWork string // a worker waits in them for work, unless called by Subtask
	Subtask    string // wait for the end of a task
	EventWaits string // a worker without work waits in them for events

	// The waiting function waits for work if it matches SchedulerWait and its caller matches Scheduler. A stripped program
	// has the name "". The pair may also be the outermost function that only forwards the wait, and its caller.
	Scheduler, SchedulerWait string

	ForwardingLoop string // loop of a pool whose functions all forward waits
	LoopWait       string // between ForwardingLoop and the C library

	WorkerFiles  string // of workers only
	ServiceFiles string // of the library's own threads
}

// eventPatterns find waits for a descriptor.
type eventPatterns struct {
	Loop      string // in any case, beside eventLoopWords
	ReplyLoop string // work runs an event loop below them until a reply is there

	AnyWait  string // wait for an event: for work if called by MainLoop, else within work
	MainLoop string

	OnePoll     string // wait for one descriptor, also by epoll
	Message     string // read a message
	MessageLoop string // call Message for a client's next request
}

var libraries = []library{
	{name: "C library",
		frames: framePatterns{
			Library: `^(__|_start$|clone3?$|start_thread$|pthread_|futex_|lll_)`,
			Forwards: wholeSymbol(`pthread_(cond|mutex|rwlock)_\w+|\w*sem_(wait|timedwait|clockwait)\w*|futex_\w+|` +
				`\w*lll_\w*wait\w*|do_futex_wait|syscall|epoll_p?wait2?|p?poll|p?select6?`),
			Result: `pthread_(mutex|rwlock)_\w*lock`,
		},
	},
	{name: "C++ library",
		frames: framePatterns{
			Library:  `^(std|__gnu_cxx)::`,
			Forwards: `^(std|__gnu_cxx)::`,
			Result: `std::(__1::)?(__)?(basic_)?(shared_)?(future|__future_base|promise|latch|barrier)|` +
				`std::(__1::)?__assoc|_M_futex_wait|std::thread::join`,
		},
	},
	{name: "Boost, asio",
		frames: framePatterns{
			Library:  `^boost::`,
			Forwards: `^boost::`,
			Result:   `boost::(unique_)?(future|thread::join)`,
		},
		pool: poolPatterns{
			ForwardingLoop: `asio::detail::scheduler::do_run_one`,
			LoopWait:       `^(boost::)?asio::detail::(posix|conditionally_enabled|std)_event::`,
		},
	},
	{name: "abseil",
		frames: framePatterns{
			Library:  `^absl::|^_?Absl`,
			Forwards: `^absl::|^_?Absl`,
			Result:   `Mutex::LockSlow`,
		},
	},
	{name: "folly", frames: framePatterns{Forwards: `^folly::`}},
	{name: "Rust's standard library",
		frames: framePatterns{
			Library:  `^(<?(core|alloc)::|<std::|<[^:]* as (std|core|alloc)::)`,
			Forwards: `^<?(core|alloc)::|^<std::`,
			Result: `futex_mutex|mutex::futex|rwlock::futex|std::sync::barrier::|` +
				`std::thread::scoped::scope`,
		},
	},
	{name: "parking_lot",
		frames: framePatterns{
			Library:  `^(parking_lot|lock_api)|^<(parking_lot|lock_api).* as (std|core|alloc|lock_api|parking_lot)`,
			Forwards: `parking_lot`,
			Result:   `raw_mutex|raw_rwlock`,
		},
	},
	{name: "crossbeam", frames: framePatterns{Forwards: `^crossbeam_(channel::|utils::sync::parker)`}},
	{name: "tokio",
		frames: framePatterns{Library: `^tokio::|^<tokio::.* as (std|core|alloc|tokio)::`},
		pool: poolPatterns{
			AwaitsWork: `^tokio::runtime::(scheduler::multi_thread::(worker::Context::park\w*|park::)|` +
				`blocking::pool::\w+::run(_worker)?$)`,
			EventWaits: `^tokio::runtime::`,
		},
	},
	{name: "rayon",
		pool: poolPatterns{
			AwaitsWork: `^rayon_core::sleep::Sleep::sleep$`,
			Subtask:    `^rayon_core::(job|join|latch|scope)|in_worker`,
		},
	},
	{name: "Go",
		frames: framePatterns{Result: `runtime\.lock2`},
		pool: poolPatterns{
			AwaitsWork: `^(runtime\.(stopm|stoplockedm|findRunnable|templateThread|startlockedm)|os/signal\.signal_recv)$`,
		},
	},
	{name: "Erlang",
		frames: framePatterns{Forwards: wholeSymbol(`ethr_event_twait`)},
		pool:   poolPatterns{Scheduler: `^erts_schedule$`, SchedulerWait: `^(scheduler_wait)?$`},
	},
	{name: "OCaml", // modules of its library; 5.x has a dot
		frames: framePatterns{
			Library: `^caml_|^caml(Stdlib|Thread|Mutex|Condition|Unix|UnixLabels|CamlinternalLazy)(__|\.)`,
		},
	},
	{name: "DuckDB", pool: poolPatterns{AwaitsWork: `^duckdb::TaskScheduler::ExecuteForever$`}},
	{name: "FFmpeg", pool: poolPatterns{WorkerFiles: `^libavutil\.so`}},
	{name: "oneTBB", pool: poolPatterns{WorkerFiles: `^libtbb\.so`}},
	{name: "OpenMP: libgomp, libomp",
		frames: framePatterns{
			Forwards: wholeSymbol(`gomp_(team_|simple_)?barrier_wait\w*|do_(wait|spin)|futex_wait`),
		},
		pool: poolPatterns{AwaitsWork: `^gomp_thread_start\b`, WorkerFiles: `^(libgomp|libomp|libiomp5)[-.]`},
	},
	{name: "OpenBLAS", pool: poolPatterns{AwaitsWork: `^blas_thread_server\b`, WorkerFiles: `^lib(scipy_)?openblas`}},
	{name: "jemalloc", pool: poolPatterns{ServiceFiles: `^libjemalloc\.so`}},
	{name: "GLib",
		frames: framePatterns{
			Library:  `^g_(cond|main)_`,
			Forwards: wholeSymbol(`g_cond_wait(_until)?`),
		},
		pool:   poolPatterns{WorkerFiles: `^libglib-2\.`},
		events: eventPatterns{ReplyLoop: `^g_\w+_sync$`},
	},
	{name: "Qt",
		frames: framePatterns{Forwards: `^QWaitCondition::|^QSemaphore::`},
		pool:   poolPatterns{WorkerFiles: `^libQt[56]Core\.`},
	},
	{name: "libuv",
		frames: framePatterns{
			Forwards: wholeSymbol(`uv_(cond_wait|cond_timedwait|sem_wait)|uv__(sem_wait|custom_sem_wait)`),
		},
		pool: poolPatterns{Scheduler: `^worker$`, SchedulerWait: `^uv_cond_wait$`},
	},
	{name: "Node",
		pool:   poolPatterns{AwaitsWork: `^node::\(anonymous namespace\)::PlatformWorkerThread$`},
		events: eventPatterns{ReplyLoop: `^node::SyncProcessRunner::`},
	},
	{name: "gRPC", events: eventPatterns{ReplyLoop: `^(grpc_completion_queue_pluck|cq_pluck)\b`}},
	{name: "libev", events: eventPatterns{Loop: `\bev_run`}},
	{name: "MySQL, MariaDB",
		frames: framePatterns{Library: `^(os_event|MDL_wait)::`, Forwards: `^os_event::`},
		pool: poolPatterns{
			AwaitsWork: `^(do_handle_one_connection|handle_manager|slave_deadlock_handler|` +
				`Per_thread_connection_handler::block_until_new_connection|Event_queue::cond_wait|` +
				`tpool::thread_pool_generic::wait_for_tasks|` +
				`log_(writer|flusher|write_notifier|flush_notifier|checkpointer|files_governor)|` +
				`(srv_(error_monitor|monitor|purge_coordinator)|lock_wait_timeout|buf_(dump|resize)|dict_stats)_thread|` +
				`ib_wqueue_timedwait|Clone_persist_gtid::periodic_write)$`,
		},
		events: eventPatterns{
			Loop:        `^handle_connections_sockets$`,
			Message:     `^(vio_\w+|(my_)?net_read_\w+|my_net_read|Protocol_classic::\w+)$`,
			MessageLoop: `^do_command$`,
		},
	},
	{name: "Redis", pool: poolPatterns{AwaitsWork: `^bioProcessBackgroundJobs$`}},
	{name: "Apache", pool: poolPatterns{AwaitsWork: `^ap_queue_pop_something$`}},
	{name: "Traffic Server",
		pool: poolPatterns{AwaitsWork: `^(ProtectedQueue::wait|AIOThreadInfo::start)$`},
	},
	{name: "Dovecot",
		events: eventPatterns{
			AnyWait:  `^io_loop_(handler_)?run(_internal)?$`,
			MainLoop: `^master_service_run$`,
		},
	},
	{name: "Samba's tevent", events: eventPatterns{ReplyLoop: `^tevent_req_poll_ntstatus$`}},
	{name: "OpenLDAP", pool: poolPatterns{WorkerFiles: `^libldap(_r)?[-.]`}},
	{name: "POCO, ClickHouse",
		frames: framePatterns{
			Forwards: `^Poco::(EventImpl::wait|NotificationQueue::waitDequeue|Net::Socket(Impl)?::poll)`,
		},
		pool: poolPatterns{AwaitsWork: `^Poco::(PooledThread|Net::TCPServerDispatcher)::run$`},
		events: eventPatterns{
			Loop:        `^Poco::Net::TCPServer::run$`,
			OnePoll:     `^Poco::Net::SocketImpl::poll$`,
			Message:     `^DB::ReadBufferFromPocoSocket::`,
			MessageLoop: `^(DB::TCPHandler::run(Impl)?|Poco::Net::TCPServerConnection::start)$`,
		},
	},
	{name: "PostgreSQL",
		frames: framePatterns{
			Library: `^(WaitEventSetWait|WaitLatch|ProcSleep|WaitOnLock|LockAcquire(Extended)?|PGSemaphoreLock)$`,
		},
		events: eventPatterns{
			Loop:     `^PostmasterMain$`,
			AnyWait:  `^(WaitEventSet|WaitLatch)`,
			MainLoop: `^(secure_read|ServerLoop|\w+Main(Loop)?|StartAutoVacLauncher)$`,
		},
	},
	{name: "Twisted", events: eventPatterns{Loop: `doPoll|doSelect|doIteration`}},
	{name: "gunicorn", events: eventPatterns{Loop: `SyncWorker\.wait`}},
}

// wholeSymbol allows leading underscores, a version, and a suffix such as a clone's.
func wholeSymbol(names string) string { return `^_*(` + names + `)(@.*|\.\w+)*$` }

// patterns are those of all libraries.
type patterns struct {
	library, forwards, result *regexp.Regexp

	awaitsWork, subtask, eventWaits, scheduler, schedulerWait, forwardingLoop, loopWait, poolNames *regexp.Regexp
	workerFiles, serviceFiles                                                                      *regexp.Regexp

	eventLoop, replyLoop, anyWait, mainLoop, onePoll, message, messageLoop *regexp.Regexp
}

var libs = compile(libraries)

func compile(all []library) patterns {
	union := func(field func(*library) string) string {
		var parts []string
		for i := range all {
			if pattern := field(&all[i]); pattern != "" {
				parts = append(parts, "(?:"+pattern+")")
			}
		}
		return strings.Join(parts, "|")
	}
	anyOf := func(field func(*library) string) *regexp.Regexp { return regexp.MustCompile(union(field)) }
	beside := func(usual string, field func(*library) string) *regexp.Regexp {
		return regexp.MustCompile("(?i)" + usual + "|" + union(field))
	}
	return patterns{
		// one anchor is a hundred times as fast as one in each
		library:  regexp.MustCompile("^(" + union(func(l *library) string { return l.frames.Library }) + ")"),
		forwards: anyOf(func(l *library) string { return l.frames.Forwards }),
		result:   anyOf(func(l *library) string { return l.frames.Result }),

		awaitsWork:     anyOf(func(l *library) string { return l.pool.AwaitsWork }),
		subtask:        anyOf(func(l *library) string { return l.pool.Subtask }),
		eventWaits:     anyOf(func(l *library) string { return l.pool.EventWaits }),
		scheduler:      anyOf(func(l *library) string { return l.pool.Scheduler }),
		schedulerWait:  anyOf(func(l *library) string { return l.pool.SchedulerWait }),
		forwardingLoop: anyOf(func(l *library) string { return l.pool.ForwardingLoop }),
		loopWait:       anyOf(func(l *library) string { return l.pool.LoopWait }),
		poolNames:      regexp.MustCompile("(?i)" + poolWords),
		workerFiles:    anyOf(func(l *library) string { return l.pool.WorkerFiles }),
		serviceFiles:   anyOf(func(l *library) string { return l.pool.ServiceFiles }),

		eventLoop:   beside(eventLoopWords, func(l *library) string { return l.events.Loop }),
		replyLoop:   anyOf(func(l *library) string { return l.events.ReplyLoop }),
		anyWait:     anyOf(func(l *library) string { return l.events.AnyWait }),
		mainLoop:    anyOf(func(l *library) string { return l.events.MainLoop }),
		onePoll:     anyOf(func(l *library) string { return l.events.OnePoll }),
		message:     anyOf(func(l *library) string { return l.events.Message }),
		messageLoop: anyOf(func(l *library) string { return l.events.MessageLoop }),
	}
}

var (
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
