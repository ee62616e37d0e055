// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"strings"
)

// library has regular expressions of functions, matched in stacks of any language. Package languages has those for the
// frames of one language.
type library struct {
	name string

	libraryFunctions string // never an application's
	forwards         string // only forward a wait
	threadStarts     string // call a new thread's function
	result           string // wait for a task's result, or for a lock

	awaitsWork string // a pool's worker waits in them for work, unless called by a subtask's function
	// A function that matches schedulerWait, "" in a stripped program, waits for work if one of scheduler calls it.
	scheduler, schedulerWait string

	subtask    string // wait for the end of a task
	eventWaits string // a worker without work waits in them for events
	replyLoops string // work runs an event loop below them until a reply is there
	poolLoop   string // loop of a pool whose functions all forward waits
	poolWait   string // between poolLoop and the C library

	// Matched in any case.
	pool      string
	nextWork  string // last part of the function by which a loop waits for work
	eventLoop string

	anyEventWaits string // wait for an event: for work if called by a mainLoop, else within work
	mainLoop      string

	onePolls    string // wait for one descriptor, also by epoll
	message     string // read a message
	messageLoop string // call message functions for a client's next request

	workers  string // files of workers only
	services string // files of the library's own threads
}

var libraries = []library{
	{
		name:             "C library",
		libraryFunctions: `^(__|_start$|clone3?$|start_thread$|pthread_|futex_|lll_)`,
		forwards: wholeSymbol(`pthread_(cond|mutex|rwlock)_\w+|\w*sem_(wait|timedwait|clockwait)\w*|futex_\w+|` +
			`\w*lll_\w*wait\w*|do_futex_wait|syscall|epoll_p?wait2?|p?poll|p?select6?`),
		threadStarts: `^(_*clone3?|start_thread|_start|__libc_start\w*)$`,
		result:       `pthread_(mutex|rwlock)_\w*lock`,
	},
	{
		name:             "C++ library",
		libraryFunctions: `^((void|bool) )?(std|__gnu_cxx)::`,
		forwards:         `^(std|__gnu_cxx)::`,
		threadStarts:     `^std::(thread|__invoke|_Bind|__1::__thread)|^(?:\S+ )?std::__1::__thread`,
		result: `std::(__1::)?(__)?(basic_)?(shared_)?(future|__future_base|promise|latch|barrier)|` +
			`std::(__1::)?__assoc|_M_futex_wait|std::thread::join`,
	},
	{
		name:             "Boost, asio",
		libraryFunctions: `^boost::`,
		forwards:         `^boost::`,
		result:           `boost::(unique_)?(future|thread::join)`,
		poolLoop:         `asio::detail::scheduler::do_run_one`,
		poolWait:         `^(boost::)?asio::detail::(posix|conditionally_enabled|std)_event::`,
	},
	{name: "abseil", libraryFunctions: `^absl::|^_?Absl`, forwards: `^absl::|^_?Absl`, result: `Mutex::LockSlow`},
	{name: "folly", forwards: `^folly::`},
	{
		name:             "Rust's standard library",
		libraryFunctions: `^(<?(std|core|alloc)::|<[^:]* as (std|core|alloc)::)`,
		forwards:         `^(core|alloc)::|std::sys|std::thread::park`,
		result:           `futex_mutex|mutex::futex|rwlock::futex`,
	},
	{
		name:             "parking_lot",
		libraryFunctions: `^(parking_lot|lock_api)|^<(parking_lot|lock_api).* as (std|core|alloc|lock_api|parking_lot)`,
		forwards:         `parking_lot`,
		result:           `raw_mutex|raw_rwlock`,
	},
	{name: "crossbeam", forwards: `crossbeam_utils::sync::parker`},
	{
		name:             "tokio",
		libraryFunctions: `^tokio::|^<tokio::.* as (std|core|alloc|tokio)::`,
		awaitsWork: `^tokio::runtime::(scheduler::multi_thread::(worker::Context::park\w*|park::)|` +
			`blocking::pool::\w+::run(_worker)?$)`,
		eventWaits: `^tokio::runtime::`,
	},
	{
		name:       "rayon",
		awaitsWork: `^rayon_core::sleep::Sleep::sleep$`,
		subtask:    `^rayon_core::(job|join|latch|scope)|in_worker`,
	},
	{
		name:       "Go",
		forwards:   wholeSymbol(`Syscall6`),
		result:     `runtime\.lock2`,
		awaitsWork: `^(runtime\.(stopm|findRunnable|templateThread|startlockedm)|os/signal\.signal_recv)$`,
		eventLoop:  `runtime\.netpoll`,
	},
	{
		name:          "Erlang",
		forwards:      wholeSymbol(`ethr_event_twait`),
		scheduler:     `^erts_schedule$`,
		schedulerWait: `^(scheduler_wait)?$`,
	},
	{
		name:             "OCaml", // modules of its library; 5.x has a dot
		libraryFunctions: `^caml_|^caml(Stdlib|Thread|Mutex|Condition|Unix|UnixLabels|CamlinternalLazy)(__|\.)`,
	},
	{name: "FFmpeg", workers: `^libavutil\.so`},
	{name: "oneTBB", workers: `^libtbb\.so`},
	{
		name:     "OpenMP: libgomp, libomp",
		forwards: wholeSymbol(`gomp_(team_|simple_)?barrier_wait\w*|do_(wait|spin)|futex_wait`),
		pool:     `gomp_thread_start|__kmp_launch_thread`,
	},
	{name: "OpenBLAS", pool: `blas_thread_server`},
	{name: "jemalloc", services: `^libjemalloc\.so`},
	{
		name:             "GLib",
		libraryFunctions: `^g_(cond|main)_`,
		forwards:         wholeSymbol(`g_cond_wait(_until)?`),
		threadStarts:     `^g_thread_proxy$`,
		replyLoops:       `^g_\w+_sync$`,
	},
	{name: "Qt", forwards: `^QWaitCondition::|^QSemaphore::`, threadStarts: `^QThreadPrivate::start$`},
	{
		name:      "libuv",
		forwards:  wholeSymbol(`uv_(cond_wait|cond_timedwait|sem_wait)|uv__(sem_wait|custom_sem_wait)`),
		eventLoop: `\buv_run|uv__io_poll`,
	},
	{name: "Node", replyLoops: `^node::SyncProcessRunner::`},
	{name: "gRPC", replyLoops: `^(grpc_completion_queue_pluck|cq_pluck)\b`},
	{name: "libev", eventLoop: `\bev_run`},
	{name: "Redis", eventLoop: `\baeApiPoll`},
	{
		name:         "MySQL, MariaDB",
		threadStarts: `^pfs_spawn_thread$`,
		awaitsWork:   `^(do_handle_one_connection|handle_manager|slave_deadlock_handler)$`,
		nextWork:     `^block_until_new_connection$`,
		eventLoop:    `^handle_connections_sockets$`,
		message:      `^(vio_\w+|(my_)?net_read_\w+|my_net_read|Protocol_classic::\w+)$`,
		messageLoop:  `^do_command$`,
	},
	{name: "Apache", awaitsWork: `^ap_queue_pop_something$`},
	{name: "Traffic Server", awaitsWork: `^(ProtectedQueue::wait|AIOThreadInfo::start)$`},
	{name: "Dovecot", anyEventWaits: `^io_loop_(handler_)?run(_internal)?$`, mainLoop: `^master_service_run$`},
	{name: "Samba's tevent", replyLoops: `^tevent_req_poll_ntstatus$`},
	{name: "OpenLDAP", workers: `^libldap(_r)?[-.]`},
	{
		name:        "POCO, ClickHouse",
		forwards:    `^Poco::(EventImpl::wait|NotificationQueue::waitDequeue|Net::Socket(Impl)?::poll)`,
		awaitsWork:  `^Poco::(PooledThread|Net::TCPServerDispatcher)::run$`,
		eventLoop:   `^Poco::Net::TCPServer::run$`,
		onePolls:    `^Poco::Net::SocketImpl::poll$`,
		message:     `^DB::ReadBufferFromPocoSocket::`,
		messageLoop: `^(DB::TCPHandler::run(Impl)?|Poco::Net::TCPServerConnection::start)$`,
	},
	{
		name:          "PostgreSQL",
		eventLoop:     `^PostmasterMain$`,
		anyEventWaits: `^(WaitEventSet|WaitLatch)`,
		mainLoop:      `^(secure_read|ServerLoop|\w+Main(Loop)?|StartAutoVacLauncher)$`,
	},
	{name: "Java's selectors", eventLoop: `SelectorImpl\.`},
	{name: "Twisted", eventLoop: `doPoll|doSelect|doIteration`},
	{name: "gunicorn", eventLoop: `SyncWorker\.wait`},
}

// wholeSymbol allows leading underscores, a version, and a suffix such as a clone's.
func wholeSymbol(names string) string { return `^_*(` + names + `)(@.*|\.\w+)*$` }

func anyOf(field func(*library) string) *regexp.Regexp {
	var all []string
	for i := range libraries {
		if pattern := field(&libraries[i]); pattern != "" {
			all = append(all, "(?:"+pattern+")")
		}
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}

var (
	// An anchor for all is a hundred times as fast as one for each.
	libraryFunctionsRegexp = regexp.MustCompile(
		"^(" + anyOf(func(l *library) string { return l.libraryFunctions }).String() + ")")
	forwardsRegexp      = anyOf(func(l *library) string { return l.forwards })
	threadStartsRegexp  = anyOf(func(l *library) string { return l.threadStarts })
	resultRegexp        = anyOf(func(l *library) string { return l.result })
	awaitsWorkRegexp    = anyOf(func(l *library) string { return l.awaitsWork })
	schedulerRegexp     = anyOf(func(l *library) string { return l.scheduler })
	schedulerWaitRegexp = anyOf(func(l *library) string { return l.schedulerWait })
	subtaskRegexp       = anyOf(func(l *library) string { return l.subtask })
	eventWaitsRegexp    = anyOf(func(l *library) string { return l.eventWaits })
	replyLoopsRegexp    = anyOf(func(l *library) string { return l.replyLoops })
	poolLoopRegexp      = anyOf(func(l *library) string { return l.poolLoop })
	poolWaitRegexp      = anyOf(func(l *library) string { return l.poolWait })
	anyEventWaitsRegexp = anyOf(func(l *library) string { return l.anyEventWaits })
	mainLoopRegexp      = anyOf(func(l *library) string { return l.mainLoop })
	onePollsRegexp      = anyOf(func(l *library) string { return l.onePolls })
	messageRegexp       = anyOf(func(l *library) string { return l.message })
	messageLoopRegexp   = anyOf(func(l *library) string { return l.messageLoop })
	workersRegexp       = anyOf(func(l *library) string { return l.workers })
	servicesRegexp      = anyOf(func(l *library) string { return l.services })

	poolRegexp      = matcher(poolWords, func(l *library) string { return l.pool })
	nextWorkRegexp  = matcher(nextWorkWords, func(l *library) string { return l.nextWork })
	eventLoopRegexp = matcher(eventLoopWords, func(l *library) string { return l.eventLoop })
	loopRegexp      = regexp.MustCompile(`(?i)` + loopWords)
	notLoopRegexp   = regexp.MustCompile(`(?i)` + notLoopWords)
)

func matcher(usual string, field func(*library) string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + usual + `|` + anyOf(field).String())
}

const (
	// A pool's functions have poolWords. A loop's last part has one of loopWords, none of notLoopWords.
	poolWords = `worker|thread_?pool|idle|background|(job|work|task)_?queue|consumer|consume|next_?(task|job)`
	loopWords = `work|loop|run|main|thread|execute|operator|lambda|service|background|idle|consum|` +
		`jobs?$|entry|serve|block_until_new_connection|launch|next`
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
