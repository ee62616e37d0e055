// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/languages"
	"prywalk/internal/walk/waits"
)

const (
	length = 10 * time.Second
	second = int64(time.Second)
)

// program builds the samples of a recording of 10 s.
type program struct {
	*Summary
	names map[string]int64
}

func newProgram(notes ...string) *program {
	return &program{New(int64(length), notes), map[string]int64{}}
}

// stack numbers functions, "name (module)", separated by ", ", innermost first.
func (p *program) stack(text string) (out []int32) {
	for name := range strings.SplitSeq(text, ", ") {
		name, module, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
		if name != "" {
			out = append(out, p.Number(Function{name, module}))
		}
	}
	return out
}

func (p *program) thread(name string) Sample {
	if p.names[name] == 0 {
		p.names[name] = int64(100 + len(p.names))
	}
	return Sample{Thread: Thread{100, p.names[name]}, Name: name, Ticks: 100}
}

func (p *program) runs(thread, stack string, seconds float64) {
	s := p.thread(thread)
	s.CPU, s.Stack = int64(seconds*1e9), p.stack(stack)
	p.Add(&s)
}

func (p *program) queues(thread, stack string, seconds float64) {
	s := p.thread(thread)
	s.Queue, s.Stack = int64(seconds*1e9), p.stack(stack)
	p.Add(&s)
}

// polls adds CPU time in a call that waits for events, and its sleeps.
func (p *program) polls(call string, seconds, asleep float64) {
	p.calls(call, "main (kvd)", seconds)
	p.waits("kvd", "main (kvd)", asleep, idleBy(waits.IdleEventLoop))
}

func (p *program) calls(call, stack string, seconds float64) {
	s := p.thread("kvd")
	s.CPU, s.Stack, s.Library, s.Inner = int64(seconds*1e9), p.stack(stack), "libc", call
	p.Add(&s)
}

func (p *program) waits(thread, stack string, seconds float64, w Wait) {
	s := p.thread(thread)
	s.Blocked, s.Stack, s.Wait = int64(seconds*1e9), p.stack(stack), w
	p.Add(&s)
}

func (p *program) task(kind, stack string, seconds float64, w Wait) {
	p.Add(&Sample{Thread: Thread{PID: 100}, Task: kind, Blocked: int64(seconds * 1e9), Stack: p.stack(stack), Wait: w})
}

func workers(n int, each func(name string)) {
	for i := range n {
		each("worker-" + string(rune('0'+i)))
	}
}

func idleBy(rule string) Wait { return Wait{Call: "futex", Idleness: waits.Idleness{Idle: rule}} }

var (
	mutex = Wait{Call: "futex", Kind: waits.Mutex, Object: "mutex cache_mu"}
	gil   = Wait{Call: "futex", Kind: waits.GIL, Object: "GIL"}
	lock  = Wait{Call: "futex", Kind: waits.Semaphore, Object: "threading.Lock"}
	nap   = Wait{Call: "clock_nanosleep"}
	reply = Wait{Call: "recvfrom", Object: "10.0.0.1:5432"}
	join  = Wait{Call: "futex", Kind: waits.Join, Object: "join thread 7"}
	queue = Wait{Call: "futex", Kind: waits.Park, In: "ArrayBlockingQueue.take",
		Object: "park java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"}
	goMu = Wait{Call: "sync.Mutex.Lock"}
)

func heldBy(w Wait, tid int64) Wait {
	w.Owner = tid
	return w
}

var conclusions = []struct {
	name  string
	build func(p *program)
	want  string
}{
	{"one hot function", func(p *program) {
		p.runs("python3", "check_email (app.py), main (app.py)", 7.4)
		p.runs("python3", "parse (app.py), main (app.py)", 2.6)
	}, "busy: 74 % in check_email (app.py); 1 CPU"},
	{"all of one native function", func(p *program) { p.runs("a", "hash, work", 20) }, "busy: 100 % in hash; 2 CPUs"},
	{"time spread below one function", func(p *program) {
		for _, f := range []string{"a", "b", "c", "d", "e"} {
			p.runs("t", f+", handle, main", 1.8)
		}
		p.runs("t", "other, main", 1)
	}, "busy: 90 % under handle, most in a (18 %); 1 CPU"},
	{"a function that calls all others", func(p *program) {
		p.runs("t", "pcall, eval, main", 2)
		p.runs("t", "find, script, pcall, eval, main", 1.9)
		p.runs("t", "copy, script, pcall, eval, main", 1.9)
		p.runs("t", "sort, script, pcall, eval, main", 1.9)
		p.runs("t", "parse, pcall, eval, main", 1.9)
	}, "busy: 100 % under pcall (20 % in itself), of that 59 % under script; 0.96 CPUs"},
	{"a function that calls most others", func(p *program) {
		p.runs("t", "parse, handle, main", 2)
		p.runs("t", "find, expr, parse, handle, main", 1.9)
		p.runs("t", "copy, expr, parse, handle, main", 1.9)
		p.runs("t", "sort, expr, parse, handle, main", 1.9)
		p.runs("t", "log, handle, main", 1.5)
	}, "busy: 83 % under parse (21 % in itself), 61 % under expr; 0.92 CPUs"},
	{"a function that the others call", func(p *program) {
		p.runs("t", "execute, handle, main", 1.6)
		p.runs("t", "execute, main", 0.9)
		for _, f := range []string{"parse", "copy", "sort"} {
			p.runs("t", f+", execute, handle, main", 1.5)
			p.runs("t", f+", execute, main", 0.9)
		}
	}, "busy: 62 % under handle, most in execute (25 %); 0.97 CPUs"},
	{"a function that calls all others, among too many pairs", func(p *program) {
		for i := range int32(maxPairs) {
			p.below[pair{-2, i}] = 1
		}
		p.runs("t", "eval, main", 2)
		for _, f := range []string{"find", "copy", "sort"} {
			p.runs("t", f+", script, eval, main", 1.9)
		}
		p.runs("t", "parse, eval, main", 1.9)
	}, "busy: 59 % under script, most in eval (20 %); 0.96 CPUs"},
	{"time spread everywhere", func(p *program) {
		for _, f := range []string{"a", "b", "c", "d", "e"} {
			p.runs("t", f+", main", 1.8)
		}
	}, "busy: spread over 5 functions, most in a (20 %); 0.9 CPUs"},
	{"time spread so that none has a tenth", func(p *program) {
		for i := range 20 {
			p.runs("t", fmt.Sprintf("f%d, main", i), 0.45)
		}
	}, "busy: spread over 20 functions; 0.9 CPUs"},
	{"readers wait for a lock that one of them holds", func(p *program) {
		p.task("goroutine", "main.(*Catalog).Price", 80, Wait{Call: "sync.RWMutex.RLock"})
	}, "mostly waiting: about 8 goroutines for sync.RWMutex.RLock in main.(*Catalog).Price; " +
		"see dump --locks while it waits"},
	{"classes whose initializers wait for each other", func(p *program) {
		for _, f := range []string{"Rates.load", "Currency.load", "Shop.rate"} {
			p.waits(f, f, 10, Wait{Call: "futex", Kind: waits.ObjectWait, Object: AClass})
		}
	}, "mostly waiting: 3 threads for a class's initialization in 3 functions; see dump --locks while it waits"},
	{"a wait group has no owner", func(p *program) {
		p.task("goroutine", "main.run", 10, Wait{Call: "sync.WaitGroup.Wait"})
	}, "mostly waiting: about 1 goroutine for sync.WaitGroup.Wait in main.run"},
	{"main waits for the server's end", func(p *program) {
		p.waits("main", "Gate.main", 10, Wait{Call: "futex", Kind: waits.ObjectWait, Object: "object-wait x.CloseFuture"})
		p.waits("loop", "Gate.report", 3, reply)
	}, "mostly waiting: 1 thread in recvfrom (10.0.0.1:5432) of Gate.report; 1 thread for object-wait x.CloseFuture in " +
		"Gate.main"},
	{"main waits for an end, and hardly any other waits", func(p *program) {
		p.waits("main", "Gate.main", 10, Wait{Call: "futex", Kind: waits.ObjectWait, Object: "object-wait x.CloseFuture"})
		p.waits("loop", "Gate.report", 0.1, reply)
	}, "mostly waiting: 1 thread for object-wait x.CloseFuture in Gate.main"},
	{"main itself waits for a server", func(p *program) {
		p.waits("main", "Gate.main", 10, reply)
		p.waits("log", "Log.run", 4, Wait{Call: "write"})
	}, "mostly waiting: 1 thread in recvfrom (10.0.0.1:5432) of Gate.main; 1 thread in write of Log.run"},
	{"main waits for a lock with an owner", func(p *program) {
		p.waits("journal", "write", 3, reply)
		p.waits("main", "Gate.main", 10, heldBy(mutex, p.names["journal"]))
	}, "mostly waiting: 1 thread for mutex cache_mu in Gate.main, held by journal (in recvfrom: 10.0.0.1:5432)"},
	{"requests wait beside more tasks in the background", func(p *program) {
		p.task("goroutine", "main.watch", 160, Wait{Call: "select", In: "grpc.Recv"})
		p.Add(&Sample{Task: "goroutine", Blocked: 50 * second, Stack: p.stack("main.lookup"), Serves: true,
			Wait: Wait{Call: "select", In: "grpc.Check"}})
	}, "mostly waiting: about 5 goroutines in select (grpc.Check) of main.lookup"},
	{"one short request beside tasks that wait for a lock all the time", func(p *program) {
		p.task("goroutine", "main.flush", 80, goMu)
		p.Add(&Sample{Task: "goroutine", Blocked: second, Stack: p.stack("main.lookup"), Serves: true,
			Wait: Wait{Call: "select", In: "grpc.Check"}})
	}, "mostly waiting: about 8 goroutines for sync.Mutex.Lock in main.flush; see dump --locks while it waits"},
	{"a copy of a lock that the parent process held at the fork", func(p *program) {
		copied := mutex
		copied.Inherited = true
		p.waits("child", "log_line", 9, copied)
		p.runs("writer", "log_line", 5)
	}, "mostly waiting: 1 thread for mutex cache_mu in log_line, taken in the parent process before the fork"},
	{"main waits for work, and another hardly waits", func(p *program) {
		p.waits("main", "<module> (job.py)", 10, Wait{Call: "futex", Kind: waits.Semaphore, Object: "queue.Queue.get"})
		p.waits("log", "emit", 0.7, Wait{Call: "write"})
	}, "mostly waiting: 1 thread for queue.Queue.get in <module> (job.py)"},
	{"busy in a library", func(p *program) {
		for _, library := range []string{"sqlite3", "sqlite3", "json"} {
			s := p.thread("t")
			s.CPU, s.Stack, s.Library = 3*second, p.stack("load (shop.py)"), library
			p.Add(&s)
		}
	}, "busy: 100 % in load (shop.py), mostly in sqlite3; 0.9 CPUs"},
	{"names of two programs", func(p *program) {
		for _, program := range []string{"file", "gunicorn"} {
			p.Add(&Sample{Thread: Thread{PID: 100}, CPU: second / 2, Ticks: 50, ShortLived: true, Program: program})
		}
		workers(2, func(name string) { p.waits(name, "content_type", 9, Wait{Call: "poll"}) })
	}, "short-lived child processes (file, gunicorn) have 100 % of the CPU time; mostly waiting: 2 threads in poll of " +
		"content_type"},
	{"names keep their receivers while there is room", func(p *program) {
		workers(27, func(name string) {
			s := p.thread(name)
			s.CPU, s.Library, s.Stack = second/25, "com.zaxxer.hikari.pool", p.stack("com.acme.search.Catalogue.byAuthor")
			p.Add(&s)
			p.queues(name, "", 2.05)
		})
	}, "waiting for a CPU: 27 threads ran 1.08s and queued 55.3s; CPU time: 100 % in …Catalogue.byAuthor, mostly in " +
		"…hikari.pool"},
	{"receivers of two names", func(p *program) {
		p.task("goroutine", "main.(*FeatureCache).Get", 60, goMu)
		p.task("goroutine", "main.(*FeatureCache).Put", 20, goMu)
		p.task("goroutine", "http.Do, main.(*FeatureCache).Get", 10, Wait{Call: "select"})
	}, "mostly waiting: about 8 goroutines for sync.Mutex.Lock, mostly in …(*FeatureCache).Get, likely held " +
		"there (in select)"},
	{"busy without names", func(p *program) { p.runs("t", "", 9) }, "busy: where is not known; 0.9 CPUs"},
	{"busy between samples", func(p *program) {
		p.runs("t", "hash", 6)
		s := p.thread("t")
		s.CPU, s.Unexplained = 4*second, true
		p.Add(&s)
	}, "busy: 60 % in hash; 1 CPU; 40 % of CPU time has no sample"},
	{"busy without samples", func(p *program) {
		p.runs("t", "hash", 1)
		s := p.thread("t")
		s.CPU, s.Unexplained = 9*second, true
		p.Add(&s)
	}, "busy: where is not known; 1 CPU; 90 % of CPU time has no sample"},
	{"busy with incomplete stacks", func(p *program) {
		s := p.thread("t")
		s.CPU, s.Incomplete, s.Stack = 9*second, true, p.stack("hash")
		p.Add(&s)
	}, "busy: 100 % in hash; 0.9 CPUs; 100 % has incomplete stacks"},
	{"busy with few samples", func(p *program) {
		s := p.thread("t")
		s.CPU, s.Ticks, s.Stack = 4*second, 7, p.stack("hash")
		p.Add(&s)
	}, "busy: 100 % in hash; 0.4 CPUs; only 7 samples of threads on a CPU"},
	{"lock with an owner that sleeps", func(p *program) {
		p.waits("journal", "write (pay.py)", 9, nap)
		workers(8, func(name string) { p.waits(name, "pay (pay.py)", 9.5, heldBy(lock, p.names["journal"])) })
	}, "mostly waiting: 8 threads for threading.Lock in pay (pay.py), held by journal (sleeps)"},
	{"the owner of a lock writes to another process", func(p *program) {
		p.waits("log", "pay (pay.py)", 9, Wait{Call: "write", Object: "pipe of shipper (pid 9)"})
		workers(7, func(name string) { p.waits(name, "pay (pay.py)", 9.5, heldBy(lock, p.names["log"])) })
	}, "mostly waiting: 7 threads for threading.Lock in pay (pay.py), held by log (in write: pipe of shipper, pid 9)"},
	{"the owner of a lock reads from two processes and sleeps", func(p *program) {
		p.waits("log", "pay (pay.py)", 3, Wait{Call: "recvfrom", Object: "10.0.0.1:1"})
		p.waits("log", "pay (pay.py)", 3, Wait{Call: "recvfrom", Object: "10.0.0.2:1"})
		p.waits("log", "pay (pay.py)", 3.5, nap)
		workers(7, func(name string) { p.waits(name, "pay (pay.py)", 9.5, heldBy(lock, p.names["log"])) })
	}, "mostly waiting: 7 threads for threading.Lock in pay (pay.py), held by log (in recvfrom)"},
	{"the owner of a lock waits for another one", func(p *program) {
		p.runs("journal", "pay (pay.py)", 0.01)
		p.waits("journal", "pay (pay.py)", 9.9, heldBy(mutex, 7))
		workers(8, func(name string) { p.waits(name, "pay (pay.py)", 9.5, heldBy(lock, p.names["journal"])) })
	}, "mostly waiting: 8 threads for threading.Lock in pay (pay.py), held by journal (waits, too)"},
	{"the owner of a lock waits for a thread", func(p *program) {
		p.runs("journal", "pay (pay.py)", 0.01)
		p.waits("journal", "pay (pay.py)", 9.9, Wait{Call: "futex", Kind: waits.Join, Object: "join thread 7"})
		workers(8, func(name string) { p.waits(name, "pay (pay.py)", 9.5, heldBy(lock, p.names["journal"])) })
	}, "mostly waiting: 8 threads for threading.Lock in pay (pay.py), held by journal (waits for a thread's end)"},
	{"of equal waits, one is the program's own", func(p *program) {
		s := p.thread("ruby")
		s.Blocked, s.Stack, s.Own = int64(9.8e9), p.stack("convert (a.rb)"), 1
		s.Wait = Wait{Call: "poll", Object: "pipe of sh (pid 8)"}
		p.Add(&s)
		p.waits("wait", "wait (libruby.so)", 9.9, Wait{Call: "futex", Kind: waits.Condition, Object: "condition"})
	}, "mostly waiting: 1 thread in poll (pipe of sh, pid 8) of convert (a.rb); 1 thread for condition in wait " +
		"(libruby.so)"},
	{"lock with a likely owner", func(p *program) {
		p.waits("journal", "pay (pay.py)", 9, nap)
		workers(8, func(name string) { p.waits(name, "pay (pay.py)", 9.5, lock) })
	}, "mostly waiting: 8 threads for threading.Lock in pay (pay.py), likely held by journal (sleeps)"},
	{"lock held over a slow call, in turn", func(p *program) {
		workers(8, func(name string) {
			p.waits(name, "price (shop.py)", 8.5, lock)
			p.waits(name, "fetch_rate (shop.py), price (shop.py)", 1.2, reply)
		})
	}, "mostly waiting: 8 threads for threading.Lock in price (shop.py), " +
		"likely held there in turn (in recvfrom: 10.0.0.1:5432)"},
	{"lock in code without names", func(p *program) {
		p.waits("journal", "[kvd] (kvd)", 9, nap)
		workers(8, func(name string) { p.waits(name, "[kvd] (kvd)", 9.5, lock) })
	}, "mostly waiting: 8 threads for threading.Lock in [kvd]; see dump --locks while it waits"},
	{"lock in turn in code made at run time", func(p *program) {
		workers(8, func(name string) {
			p.waits(name, "[anon] ([anon])", 8.5, lock)
			p.waits(name, "fetch_rate (shop.py), [anon] ([anon])", 1.2, reply)
		})
	}, "mostly waiting: 8 threads for threading.Lock in [anon]"},
	{"lock with an owner that is not known", func(p *program) {
		workers(8, func(name string) { p.waits(name, "pay (pay.py)", 9.5, lock) })
	}, "mostly waiting: 8 threads for threading.Lock in pay (pay.py); see dump --locks while it waits"},
	{"lock with an owner that is not known, for a part of the time", func(p *program) {
		workers(8, func(name string) { p.waits(name, "pay (pay.py)", 9, lock) })
	}, "mostly waiting: 8 threads for threading.Lock in pay (pay.py)"},
	{"lock in turn", func(p *program) {
		workers(4, func(name string) { p.runs(name, "put", 0.5) })
		workers(4, func(name string) {
			p.waits(name, "put", 4.5, heldBy(mutex, p.names["worker-0"]))
			p.waits(name, "put", 4.5, heldBy(mutex, p.names["worker-1"]))
		})
	}, "mostly waiting: 4 threads for mutex cache_mu in put, " +
		"held by 2 threads in turn; busy on 0.2 CPUs, 100 % in put"},
	{"lock in turn over a slow call, beside others in the function", func(p *program) {
		workers(4, func(name string) {
			for _, owner := range []string{"worker-0", "worker-1"} {
				p.waits(name, "price (shop.py)", 4, heldBy(lock, p.thread(owner).Thread.TID))
			}
		})
		p.waits("worker-0", "fetch_rate (shop.py), price (shop.py)", 1, reply)
		workers(9, func(name string) { p.waits("other-"+name, "price (shop.py)", 0.9, Wait{Call: "fsync"}) })
	}, "mostly waiting: 4 threads for threading.Lock in price (shop.py), held by 2 threads in turn (in recvfrom: " +
		"10.0.0.1:5432)"},
	{"lock in turn from functions without names", func(p *program) {
		p.waits("a", "tick", 9, nap)
		p.waits("b", "", 4, heldBy(mutex, 7))
		p.waits("b", "", 4, heldBy(mutex, 8))
	}, "mostly waiting: 1 thread for mutex cache_mu, held by 2 threads in turn; 1 thread sleeps in tick"},
	{"one lock from several functions", func(p *program) {
		p.waits("a", "get", 9, mutex)
		p.waits("b", "put", 9, mutex)
		p.waits("c", "drop", 9, mutex)
	}, "mostly waiting: 3 threads for mutex cache_mu in 3 functions"},
	{"one lock mostly from one function", func(p *program) {
		workers(3, func(name string) { p.waits(name, "get", 9, mutex) })
		p.waits("b", "put", 9, mutex)
	}, "mostly waiting: 4 threads for mutex cache_mu, mostly in get"},
	{"one lock from two functions", func(p *program) {
		p.waits("a", "get", 9, mutex)
		p.waits("b", "put", 8, mutex)
	}, "mostly waiting: 2 threads for mutex cache_mu, mostly in get"},
	{"two locks in one name from two functions", func(p *program) {
		p.task("goroutine", "main.east", 10, goMu)
		p.task("goroutine", "main.west", 10, goMu)
	}, "mostly waiting: about 2 goroutines for sync.Mutex.Lock in main.east and main.west; " +
		"see dump --locks while it waits"},
	{"all connections of a pool are taken", func(p *program) {
		workers(8, func(name string) {
			s := p.thread(name)
			s.Blocked, s.Stack, s.Pooled, s.Wait = 9*second, p.stack("Shop.borrow (Shop.java)"), true, queue
			if name > "worker-5" {
				s.Stack, s.Wait = p.stack("Shop.query (Shop.java)"), reply
			}
			p.Add(&s)
		})
	}, "mostly waiting: 6 of 8 threads of worker-* for ArrayBlockingQueue.take in Shop.borrow"},
	{"all threads of a pool wait for their tasks", func(p *program) {
		workers(4, func(name string) {
			s := p.thread(name)
			s.Blocked, s.Stack, s.Pooled, s.Wait = 9*second, p.stack("Shop.sell (Shop.java)"), true, queue
			s.Wait.Object, s.Wait.In = "park java.util.concurrent.FutureTask", ""
			p.Add(&s)
		})
	}, "mostly waiting: all 4 threads of worker-* for FutureTask in Shop.sell"},
	{"requests and all threads of a pool wait for results", func(p *program) {
		wait := func(name, function string, pooled bool) {
			s := p.thread(name)
			s.Blocked, s.Stack, s.Pooled, s.AwaitsResult, s.Wait = 9*second, p.stack(function), pooled, true, queue
			s.Wait.Object, s.Wait.In = "", "Future.result"
			p.Add(&s)
		}
		wait("http-0", "home (portal.py)", false)
		wait("http-1", "home (portal.py)", false)
		workers(3, func(name string) { wait(name, "build (portal.py)", true) })
	}, "mostly waiting: 5 threads for Future.result, mostly in build (portal.py); all threads of pool worker-* wait " +
		"for results: see dump --locks"},
	{"sessions of PHP wait for a file", func(p *program) {
		lock := Wait{Call: "flock", Kind: waits.FileLock, Object: "file-lock /var/lib/php/sessions/sess_0123456789abcdef0123"}
		workers(3, func(name string) { p.waits(name, "checkout.php", 9, lock) })
	}, "mostly waiting: 3 threads for file lock …sess_0123456789abcdef0123 in checkout.php"},
	{"requests wait for tasks of a pool that is full", func(p *program) {
		for _, name := range []string{"http-0", "http-1"} {
			s := p.thread(name)
			s.Blocked, s.Stack, s.AwaitsResult, s.Wait = 9*second, p.stack("App.render (App.java)"), true, queue
			s.Wait.Object, s.Wait.In = "", "CompletableFuture.join"
			p.Add(&s)
		}
		workers(3, func(name string) {
			s := p.thread(name)
			s.Blocked, s.Stack, s.Pooled = 9*second, p.stack("App.look (App.java)"), true
			s.Wait = Wait{Call: "futex", Object: string(waits.Sleep)}
			p.Add(&s)
		})
	}, "mostly waiting: 2 threads for CompletableFuture.join in App.render; " +
		"no thread of worker-* is free (sleeps in App.look)"},
	{"requests wait for tasks, and one thread of the pool is free", func(p *program) {
		s := p.thread("http-0")
		s.Blocked, s.Stack, s.AwaitsResult, s.Wait = 9*second, p.stack("App.render (App.java)"), true, queue
		s.Wait.Object, s.Wait.In = "", "CompletableFuture.join"
		p.Add(&s)
		for i := range 30 {
			s := p.thread(fmt.Sprintf("worker-%d", i))
			s.Blocked, s.Stack, s.Pooled = 9*second, p.stack("App.look (App.java)"), true
			if s.Wait = (Wait{Call: "futex", Object: string(waits.Sleep)}); i == 7 {
				s.Wait = idleBy(waits.IdlePool)
			}
			p.Add(&s)
		}
	}, "mostly waiting: 1 thread for CompletableFuture.join in App.render; " +
		"29 of 30 threads of worker-* sleep in App.look"},
	{"the GIL", func(p *program) {
		p.runs("busy", "spin (app.py)", 9.8)
		workers(3, func(name string) { p.waits(name, "serve (app.py)", 9.8, heldBy(gil, p.names["busy"])) })
	}, "mostly waiting: 3 threads for the GIL in serve (app.py), held by busy (runs); busy on 0.98 CPUs, 100 % in " +
		"spin (app.py)"},
	{"owners of equal names", func(p *program) {
		a, b := p.thread("pool"), p.thread("other")
		b.Name = "pool"
		for _, s := range []*Sample{&a, &b} {
			s.Blocked, s.Wait = 9*second, nap
			p.Add(s)
		}
		workers(2, func(name string) { p.waits(name, "put", 9.5, heldBy(mutex, 100)) })
	}, "mostly waiting: 2 threads for mutex cache_mu in put, held by pool (tid 100, sleeps)"},
	{"goroutines for a lock", func(p *program) {
		p.task("goroutine", "shop/internal/db.(*T).save", 50, goMu)
		p.task("goroutine", "shop/internal/db.(*T).save", 9, Wait{Call: "sleep"})
	}, "mostly waiting: about 5 goroutines for sync.Mutex.Lock in db.(*T).save, likely held there (sleeps)"},
	{"the function that sleeps under the lock", func(p *program) {
		p.task("goroutine", "shop/internal/demo.(*shop).lookUpPrice", 70, goMu)
		p.task("goroutine", "shop/internal/demo.fetchPrice, shop/internal/demo.(*shop).lookUpPrice", 9, Wait{Call: "sleep"})
	}, "mostly waiting: about 7 goroutines for sync.Mutex.Lock in (*shop).lookUpPrice, likely held there (sleeps in " +
		"fetchPrice)"},
	{"several functions sleep under the lock", func(p *program) {
		p.task("goroutine", "db.(*T).save", 50, goMu)
		p.task("goroutine", "main.a, db.(*T).save", 4, Wait{Call: "sleep"})
		p.task("goroutine", "main.b, db.(*T).save", 4, Wait{Call: "sleep"})
	}, "mostly waiting: about 5 goroutines for sync.Mutex.Lock in db.(*T).save, likely held there (sleeps)"},
	{"who waits for the lock's owners comes second", func(p *program) {
		p.task("goroutine", "main.client", 60, Wait{Call: "select"})
		p.task("goroutine", "main.save", 50, goMu)
	}, "mostly waiting: about 5 goroutines for sync.Mutex.Lock in main.save; about 6 goroutines in select of main.client"},
	{"a library's select", func(p *program) {
		p.task("goroutine", "main.fetch", 60, Wait{Call: "select", In: "net/http.Get"})
	}, "mostly waiting: about 6 goroutines in select (net/http.Get) of main.fetch"},
	{"a response of a process", func(p *program) {
		p.task("goroutine", "main.fetch", 60, Wait{Call: "select", Object: "a response of 127.0.0.1:8080 = api (pid 9)",
			In: "net/http.Get"})
	}, "mostly waiting: about 6 goroutines in select (a response of 127.0.0.1:8080 = api, pid 9) of main.fetch"},
	{"a peer's processes have no room", func(p *program) {
		p.task("goroutine", "main.queryTheDatabaseForAllOfTheOrders", 60, Wait{Call: "IO wait",
			Object: "127.0.0.1:5432 = postgres (12 processes), pgbouncer (pid 7)"})
	}, "mostly waiting: about 6 goroutines in IO wait (127.0.0.1:5432) of …queryTheDatabaseForAllOfTheOrders"},
	{"a JVM that collects garbage", func(p *program) {
		p.runs("main", "Shop.handle", 4.6)
		for _, role := range []string{languages.RoleGC, languages.RoleMachine} {
			s := p.thread(role)
			s.CPU, s.Collector, s.Stack = 27*second/10, languages.CollectorOfRole[role], p.stack("[libjvm.so] (unnamed)")
			p.Add(&s)
		}
	}, "busy: 46 % in Shop.handle, 27 % by the JVM's VM Thread (which collects garbage with SerialGC), " +
		"27 % by the JVM's garbage collector; 1 CPU"},
	{"a JVM that collects garbage, and does many things", func(p *program) {
		for i := range 20 {
			p.runs("main", fmt.Sprintf("f%d, main", i), 0.2)
		}
		s := p.thread(languages.RoleMachine)
		s.CPU, s.Collector, s.Stack = 6*second, languages.CollectorOfRole[languages.RoleMachine], p.stack("")
		p.Add(&s)
	}, "busy: 60 % by the JVM's VM Thread (which collects garbage with SerialGC), " +
		"the rest spread over 20 functions; 1 CPU"},
	{"mostly garbage collection", func(p *program) {
		p.runs("app", "main.parse", 1.5)
		for _, stack := range []string{"", "main.parse"} {
			s := p.thread("app")
			s.CPU, s.Collector, s.Stack = 4*second, "Go's garbage collector", p.stack(stack)
			p.Add(&s)
		}
	}, "busy: 84 % by Go's garbage collector, 15 % in main.parse; 0.95 CPUs"},
	{"only garbage collection", func(p *program) {
		s := p.thread("app")
		s.CPU, s.Collector = 9*second, "Ruby's garbage collector"
		p.Add(&s)
	}, "busy: 100 % by Ruby's garbage collector; 0.9 CPUs"},
	{"a system call that takes CPU time", func(p *program) {
		s := p.thread("http")
		s.CPU, s.Stack, s.Library, s.Inner = 9*second, p.stack("append (journal.py)"), "libc", "fsync"
		p.Add(&s)
	}, "busy: 100 % in append (journal.py), mostly in fsync; 0.9 CPUs"},
	{"many functions of libc", func(p *program) {
		for _, inner := range []string{"malloc", "free", "memcpy"} {
			s := p.thread("http")
			s.CPU, s.Stack, s.Library, s.Inner = 3*second, p.stack("load (app.py)"), "libc", inner
			p.Add(&s)
		}
	}, "busy: 100 % in load (app.py), mostly in libc; 0.9 CPUs"},
	{"what is waited for sleeps", func(p *program) {
		workers(4, func(name string) { p.waits(name, "Prices.quote", 9, queue) })
		workers(9, func(name string) { p.waits("pool-"+name, "Prices.fetch", 9, nap) })
	}, "mostly waiting: 4 threads for ArrayBlockingQueue.take in Prices.quote; 9 threads sleep in Prices.fetch"},
	{"a server, for which the lock's owner waits, has room without its length of wait", func(p *program) {
		p.task("goroutine", "main.invoice", 110, Wait{Call: "sync.Mutex.Lock"})
		p.task("goroutine", "main.invoice", 9, Wait{Call: "select", Object: "a response of 127.0.0.1:7116 = tax (pid 3)"})
	}, "mostly waiting: about 11 goroutines for sync.Mutex.Lock in main.invoice, " +
		"likely held there (in select: 127.0.0.1:7116)"},
	{"threads that look for a lock's end now and then hardly wait for a CPU", func(p *program) {
		workers(6, func(name string) {
			p.waits(name, "save_order", 9, nap)
			s := p.thread(name)
			s.Queue, s.Stack = second/4, p.stack("save_order")
			p.Add(&s)
		})
	}, "mostly asleep: 6 threads sleep in save_order"},
	{"other waits do not make a small one the main one", func(p *program) {
		for _, peer := range []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4"} {
			p.waits("reader-"+peer, "read_request", 5, Wait{Call: "recvfrom", Object: peer})
		}
		workers(3, func(name string) {
			s := p.thread(name)
			s.CPU, s.Queue, s.Stack = second/2, 4*second, p.stack("price")
			p.Add(&s)
		})
	}, "waiting for a CPU: 3 threads ran 1.50s and queued 12.0s; CPU time: 100 % in price"},
	{"small waits for many peers are no all-clear", func(p *program) {
		for n := range 100 {
			peer := fmt.Sprintf("10.0.0.1:%d", 100+n)
			p.waits("client-"+peer, "query", 0.4, Wait{Call: "recvfrom", Object: peer})
		}
		p.runs("main", "render", 0.2)
	}, "mostly waiting: 1 thread in recvfrom (10.0.0.1:100) of query"},
	{"threads without a CPU beside others that sleep", func(p *program) {
		for n := range 25 {
			p.waits(fmt.Sprintf("timer-%d", n), "tick", 10, nap)
		}
		workers(3, func(name string) {
			p.runs(name, "price", 0.25)
			p.queues(name, "price", 1)
		})
	}, "waiting for a CPU: 3 threads ran 750ms and queued 3.00s; CPU time: 100 % in price; 25 threads sleep in tick"},
	{"tasks that nothing reads", func(p *program) {
		p.Unseen = "tokio's tasks"
		workers(3, func(name string) {
			p.waits(name, "", 10, Wait{Call: "futex", Idleness: waits.Idleness{Idle: waits.IdlePool}})
		})
	}, "mostly asleep: 3 threads wait for work; tokio's tasks are not examined, so requests may wait"},
	{"one of two servers", func(p *program) {
		p.task("goroutine", "main.queryTheDatabaseForAllOfTheOrders", 60, Wait{Call: "select",
			Object: "one of 10.0.0.1:81 = x (pid 3), 127.0.0.1:80", In: "net/http.Get"})
	}, "mostly waiting: about 6 goroutines in select (one of " +
		"10.0.0.1:81, 127.0.0.1:80) of …queryTheDatabaseForAllOfTheOrders"},
	{"a Unix socket", func(p *program) {
		p.task("goroutine", "main.list", 60, Wait{Call: "IO wait", Object: "socket of dockerd (pid 7)"})
	}, "mostly waiting: about 6 goroutines in IO wait (socket of dockerd, pid 7) of main.list"},
	{"a blocked event loop", func(p *program) {
		p.task("asyncio task", "tick (app.py)", 10, Wait{Call: readyTask})
		loop := p.thread("MainThread")
		loop.Blocked, loop.Wait, loop.Stack = 10*second, nap, p.stack("query (app.py)")
		p.Add(&loop)
	}, "mostly waiting: about 1 asyncio task for the event loop in tick (app.py); 1 thread sleeps in query (app.py)"},
	{"an event loop that a call blocks", func(p *program) {
		p.task("asyncio task", "client (app.py)", 140, Wait{Call: "readline"})
		loop := p.thread("MainThread")
		loop.Blocked, loop.Wait, loop.Stack, loop.HoldsLoop = 97*second/10, nap, p.stack("read_config (app.py)"), true
		p.Add(&loop)
	}, "event loop blocked 97 % of the time in read_config (app.py); " +
		"about 14 asyncio tasks in readline of client (app.py)"},
	{"an event loop that a call blocks, mostly between ticks", func(p *program) {
		p.task("asyncio task", "expire (main.py)", 20, Wait{Call: "asyncio.sleep"})
		loop := p.thread("MainThread")
		loop.Stack, loop.HoldsLoop = p.stack("score (main.py)"), true
		loop.Blocked, loop.Wait = 4*second, reply
		p.Add(&loop)
		loop.Blocked, loop.Wait = 5*second, Wait{}
		p.Add(&loop)
	}, "event loop blocked 40 to 90 % of the time in score (main.py); 1 thread in recvfrom (10.0.0.1:5432) of " +
		"score (main.py)"},
	{"timers of an event loop that a call blocks for a while", func(p *program) {
		p.task("asyncio task", "expire (main.py)", 20, Wait{Call: "asyncio.sleep"})
		loop := p.thread("MainThread")
		loop.Stack, loop.HoldsLoop, loop.Blocked, loop.Wait = p.stack("score (main.py)"), true, 3*second, reply
		p.Add(&loop)
	}, "mostly waiting: 1 thread in recvfrom (10.0.0.1:5432) of score (main.py)"},
	{"timers of an event loop that is seen between ticks only", func(p *program) {
		p.task("asyncio task", "expire (main.py)", 20, Wait{Call: "asyncio.sleep"})
		loop := p.thread("MainThread")
		loop.Stack, loop.HoldsLoop, loop.Blocked = p.stack("score (main.py)"), true, 9*second
		p.Add(&loop)
	}, "mostly asleep: 1 thread sleeps in score (main.py), for what is not known"},
	{"timers of ten event loops, each of which waits shortly between ticks", func(p *program) {
		workers(10, func(name string) {
			loop := p.thread(name)
			loop.Stack, loop.HoldsLoop, loop.Blocked = p.stack("expire (main.py)"), true, 3*second/10
			p.Add(&loop)
			p.task("asyncio task", "expire (main.py)", 200, Wait{Call: "asyncio.sleep"})
		})
	}, "mostly waiting: about 200 asyncio tasks in asyncio.sleep of expire (main.py)"},
	{"timers of an event loop", func(p *program) {
		p.task("asyncio task", "expire (main.py)", 20, Wait{Call: "asyncio.sleep"})
	}, "mostly waiting: about 2 asyncio tasks in asyncio.sleep of expire (main.py)"},
	{"an event loop that waits for the GIL", func(p *program) {
		p.task("asyncio task", "client (app.py)", 280, Wait{Call: "readline"})
		loop := p.thread("MainThread")
		loop.Blocked, loop.Wait, loop.Stack, loop.HoldsLoop = 9*second, gil, p.stack("client (app.py)"), true
		p.Add(&loop)
	}, "mostly waiting: about 28 asyncio tasks in readline of client (app.py)"},
	{"fibers that are ready", func(p *program) {
		p.task("fiber", "tick (app.rb)", 10, Wait{Call: readyTask})
	}, "mostly waiting: about 1 fiber in ready of tick (app.rb)"},
	{"a lock in bursts", func(p *program) {
		p.Bursts = func(call, object string) string {
			return map[string]string{"sync.Mutex.Lock": "up to 6 at once, in 3 bursts"}[call+object]
		}
		p.task("goroutine", "main.save", 7, goMu)
	}, "mostly waiting: about 1 goroutine (up to 6 at once, in 3 bursts) for sync.Mutex.Lock in main.save"},
	{"threads in bursts", func(p *program) {
		p.Bursts = func(call, object string) string { return "up to 8 at once, in 1 burst" }
		workers(8, func(name string) { p.waits(name, "query", 2, reply) })
	}, "mostly waiting: 8 threads (1.6 at a time, up to 8 at once, in 1 burst) in recvfrom (10.0.0.1:5432) of query"},
	{"a slow database", func(p *program) {
		workers(6, func(name string) { p.waits(name, "query (db.py)", 9, reply) })
		p.runs("main", "render (app.py)", 0.5)
	}, "mostly waiting: 6 threads in recvfrom (10.0.0.1:5432) of query (db.py)"},
	{"waits beside idle threads of a run-time system", func(p *program) {
		workers(5, func(name string) {
			p.waits(name, "L.store (L.java)", 9, Wait{Call: "futex", Kind: waits.Monitor,
				Object: "monitor java.lang.Object"})
		})
		for _, name := range []string{"gc", "jit", "signals"} {
			p.waits(name, "", 10, idleBy(waits.IdleRuntime))
		}
	}, "mostly waiting: 5 threads for monitor Object in L.store"},
	{"a rare wait of idle threads", func(p *program) {
		workers(8, func(name string) {
			p.waits(name, "serve", 9.5, idleBy(waits.IdlePool))
			p.waits(name, "query", 0.3, reply)
		})
	}, "mostly asleep: 8 threads wait for work; 8 threads (0.24 at a time) in recvfrom (10.0.0.1:5432) of query"},
	{"many threads, half of the time", func(p *program) {
		workers(3000, func(name string) { p.waits(name, "query", 5, reply) })
	}, "mostly waiting: 3,000 threads (1,500 at a time) in recvfrom (10.0.0.1:5432) of query"},
	{"an idle server", func(p *program) {
		p.waits("main", "aeMain", 9.9, idleBy(waits.IdleEventLoop))
		workers(4, func(name string) { p.waits(name, "bio", 10, idleBy(waits.IdlePool)) })
		p.runs("main", "serverCron", 0.02)
	}, "mostly asleep: 5 threads wait for work or events"},
	{"a guess is no all-clear", func(p *program) {
		p.waits("a", "take_job", 10, Wait{Call: "futex", Kind: waits.Condition, Object: "condition",
			Idleness: waits.Idleness{IdleGuess: "take_job"}})
	}, "mostly waiting: 1 thread for condition in take_job, idle? only that name says so"},
	{"a guess does not hide what runs", func(p *program) {
		workers(4, func(name string) {
			p.runs(name, "total", 0.6)
			p.waits(name, "take_job", 9, Wait{Call: "futex", Kind: waits.Condition, Object: "condition",
				Idleness: waits.Idleness{IdleGuess: "take_job"}})
		})
	}, "busy: 100 % in total; 0.24 CPUs; 4 threads for condition in take_job, idle? only that name says so"},
	{"waits in code without names do not hide what runs", func(p *program) {
		p.runs("query", "filesort", 3)
		workers(4, func(name string) {
			p.waits(name, "[mariadbd] (mariadbd)", 10, Wait{Call: "futex", Kind: waits.Condition, Object: "condition"})
		})
		p.waits("io", "[liburing.so] (liburing.so)", 10, Wait{Call: "io_uring_enter", Object: "io_uring"})
	}, "busy: 100 % in filesort; 0.3 CPUs; 4 threads for condition in [mariadbd]"},
	{"waits in code without names are not hidden by what hardly runs", func(p *program) {
		p.runs("query", "parse", 1.5)
		workers(8, func(name string) {
			p.waits(name, "[server] (server)", 10, Wait{Call: "futex", Kind: waits.Condition, Object: "condition"})
		})
		p.waits("main", "loop", 10, idleBy(waits.IdleEventLoop))
	}, "mostly waiting: 8 threads for condition in [server]; busy on 0.15 CPUs, 100 % in parse"},
	{"waits in code without names do not hide a lack of CPUs", func(p *program) {
		p.runs("query", "parse", 1.5)
		p.queues("query", "parse", 8)
		workers(8, func(name string) {
			p.waits(name, "[server] (server)", 10, Wait{Call: "futex", Kind: waits.Condition, Object: "condition"})
		})
	}, "waiting for a CPU: 1 thread ran 1.50s and queued 8.00s; CPU time: 100 % in parse; 8 threads for condition in " +
		"[server]"},
	{"threads that also work wait within it, in code without names", func(p *program) {
		workers(4, func(name string) {
			p.runs(name, "filesort", 1)
			p.waits(name, "[mariadbd] (mariadbd)", 9, Wait{Call: "futex", Kind: waits.Condition, Object: "condition"})
		})
	}, "mostly waiting: 4 threads for condition in [mariadbd]; busy on 0.4 CPUs, 100 % in filesort"},
	{"a guess does not hide a lack of CPUs", func(p *program) {
		workers(4, func(name string) {
			p.runs(name, "total", 0.3)
			p.queues(name, "total", 2.3)
			p.waits(name, "take_job", 7, Wait{Call: "futex", Kind: waits.Condition, Object: "condition",
				Idleness: waits.Idleness{IdleGuess: "take_job"}})
		})
	}, "waiting for a CPU: 4 threads ran 1.20s and queued 9.20s; CPU time: 100 % in total"},
	{"a child process that is not recorded", func(p *program) {
		workers(4, func(name string) {
			p.waits(name, "thumbnail (app.py)", 10, Wait{Call: "wait4", Kind: waits.Child, Object: "child gs (4 processes)"})
		})
		p.waits("main", "<module> (app.py)", 10, Wait{Call: "pselect6"})
	}, "mostly waiting: 4 threads in wait4 (child gs, 4 processes) of thumbnail (app.py); children are not recorded " +
		"(--children)"},
	{"child processes beside an alarm", func(p *program) {
		p.notes = []string{runstats.UnrecordedChildren(1, 0.8)}
		workers(4, func(name string) {
			p.waits(name, "thumbnail (app.py)", 10, Wait{Call: "wait4", Kind: waits.Child, Object: "child gs (15 processes)"})
		})
	}, "1 child process used 0.8 s of CPU, not recorded (--children); mostly waiting: 4 threads in wait4 (child gs) of " +
		"thumbnail"},
	{"a child process that is recorded", func(p *program) {
		p.waits("sh", "waitchld", 10, Wait{Call: "wait4"})
		p.waits("job", "fetch", 6, reply)
	}, "mostly waiting: 1 thread in recvfrom (10.0.0.1:5432) of fetch"},
	{"idle threads, and some of the run-time system", func(p *program) {
		workers(4, func(name string) { p.waits(name, "", 10, idleBy(waits.IdlePool)) })
		p.waits("gc", "", 10, idleBy(waits.IdleRuntime))
	}, "mostly asleep: 4 threads wait for work, 1 thread of the run-time system"},
	{"only threads of the run-time system", func(p *program) { p.waits("gc", "", 10, idleBy(waits.IdleRuntime)) },
		"mostly asleep: 1 thread of the run-time system"},
	{"threads that hardly ran", func(p *program) {
		p.runs("hasher", "hash", 2)
		p.queues("hasher", "hash", 8)
		p.queues("compiler", "", 0.3)
	}, "waiting for a CPU: 1 thread ran 2.00s and queued 8.30s; CPU time: 100 % in hash"},
	{"a function without a name", func(p *program) {
		p.runs("node", "(anonymous) (app.js)", 0.5)
		p.queues("node", "(anonymous) (app.js)", 10.3)
		s := p.thread("node")
		s.CPU, s.Collector = 45*second/100, "Node's garbage collector"
		p.Add(&s)
	}, "waiting for a CPU: 1 thread ran 950ms and queued 10.3s; CPU time: 52 % in app.js, " +
		"47 % by Node's garbage collector"},
	{"an idle server on a busy host", func(p *program) {
		for _, name := range []string{"haproxy", "haproxy-2"} {
			p.runs(name, "process_stream", 0.06)
			p.queues(name, "process_stream", 0.9)
			p.waits(name, "run_poll_loop", 9, idleBy(waits.IdleEventLoop))
		}
	}, "mostly asleep: 2 threads wait for events; to run 120ms, they queued 1.80s for a CPU of a busy host"},
	{"idle threads that may have delayed each other", func(p *program) {
		workers(8, func(name string) {
			p.runs(name, "handle", 0.1)
			p.queues(name, "handle", 0.5)
			p.waits(name, "loop", 9.4, idleBy(waits.IdleEventLoop))
		})
	}, "mostly asleep: 8 threads wait for events; to run 800ms, they queued 4.00s for a CPU"},
	{"an idle program that is slowed by a lack of CPUs", func(p *program) {
		workers(8, func(name string) {
			p.runs(name, "handle", 0.3)
			p.queues(name, "handle", 1.5)
			p.waits(name, "loop", 8.2, idleBy(waits.IdleEventLoop))
		})
	}, "waiting for a CPU: 8 threads ran 2.40s and queued 12.0s; CPU time: 100 % in handle"},
	{"a half idle thread that is slowed by a lack of CPUs", func(p *program) {
		p.runs("haproxy", "process_stream", 0.5)
		p.queues("haproxy", "process_stream", 4)
		p.waits("haproxy", "run_poll_loop", 5.5, idleBy(waits.IdleEventLoop))
	}, "waiting for a CPU: 1 thread ran 500ms and queued 4.00s; CPU time: 100 % in process_stream"},
	{"an idle server on a busy host, and a thread that waits within work", func(p *program) {
		p.runs("haproxy", "process_stream", 0.1)
		p.queues("haproxy", "process_stream", 1.5)
		p.waits("haproxy", "run_poll_loop", 8.4, idleBy(waits.IdleEventLoop))
		p.waits("log", "emit", 6, Wait{Call: "write"})
	}, "mostly waiting: 1 thread in write of emit"},
	{"a loop whose wait for events returns at once", func(p *program) {
		p.polls("epoll_wait", 5.2, 0)
		p.calls("recv", "peer_notice (kvd), main (kvd)", 4.7)
	}, "busy: 52 % in main (kvd), where epoll_wait returns at once; 0.99 CPUs"},
	{"a loop whose other calls take longer", func(p *program) {
		p.polls("__poll", 4.6, 0.1)
		p.calls("recv", "peer_notice (kvd), main (kvd)", 5.2)
	}, "busy: 53 % in peer_notice (kvd), mostly in recv, 46 % in main (kvd), where poll returns at once; 0.98 CPUs"},
	{"a loop without sleep and without a CPU", func(p *program) {
		p.polls("epoll_wait", 1.9, 0)
		p.calls("recv", "peer_notice (kvd), main (kvd)", 2.06)
		p.queues("kvd", "main (kvd)", 6.03)
	}, "waiting for a CPU: 1 thread ran 3.96s and queued 6.03s; CPU time: 47 % in main, where epoll_wait returns at once"},
	{"a busy server that waits for events for a moment", func(p *program) {
		p.polls("epoll_wait", 5, 0.5)
		p.calls("recv", "peer_notice (kvd), main (kvd)", 4.5)
	}, "busy: 52 % in main (kvd), mostly in epoll_wait; 0.95 CPUs"},
	{"a busy server that always has events", func(p *program) {
		p.polls("epoll_wait", 2.5, 0)
		p.calls("recv", "handle (kvd), main (kvd)", 7.5)
	}, "busy: 75 % in handle (kvd), mostly in recv; 1 CPU"},
	{"sleepers", func(p *program) { workers(7, func(name string) { p.waits(name, "nap", 10, nap) }) },
		"mostly asleep: 7 threads sleep in nap"},
	{"a library sleeps, to try again", func(p *program) {
		try := nap
		try.In = "redis.Lock.acquire"
		workers(6, func(name string) { p.waits(name, "sync_stock (worker.py), main (worker.py)", 10, try) })
		p.waits("http", "loop", 10, idleBy(waits.IdleEventLoop))
	}, "mostly asleep: 6 threads sleep in redis.Lock.acquire of sync_stock (worker.py), 1 thread waits for events"},
	{"sleepers on a busy host", func(p *program) {
		workers(5, func(name string) {
			s := p.thread(name)
			s.CPU, s.Unexplained = 1e6, true
			p.Add(&s)
			p.queues(name, "count", 0.3)
			p.waits(name, "count (app.py)", 9.6, nap)
		})
	}, "mostly asleep: 5 threads sleep in count (app.py)"},
	{"a library sleeps, and there is no room for who joins", func(p *program) {
		try := nap
		try.In = "redis.Lock.acquire"
		workers(6, func(name string) { p.waits(name, "synchronize_stock (worker.py)", 10, try) })
		p.waits("main", "_shutdown (threading)", 10, join)
	}, "mostly asleep: 6 threads sleep in redis.Lock.acquire of synchronize_stock (worker.py)"},
	{"one joins what sleeps", func(p *program) {
		p.waits("main", "main", 10, join)
		p.waits("worker", "nap", 10, nap)
	}, "mostly asleep: 1 thread sleeps in nap, 1 thread waits in main, for threads or child processes"},
	{"one long sleeper, and many that wait for work", func(p *program) {
		p.waits("poller", "synchronize_stock_of_all_the_warehouses_in_turn (warehouse_synchronization.py)", 10, nap)
		for i := range 500 {
			p.waits(fmt.Sprint("pool-", i), "", 10, idleBy(waits.IdlePool))
		}
	}, "mostly asleep: 500 threads wait for work, 1 thread sleeps in synchronize_sto…rehouses_in_turn"},
	{"a join says nothing beside a lock", func(p *program) {
		p.waits("main", "main", 10, join)
		workers(2, func(name string) { p.waits(name, "put", 10, mutex) })
	}, "mostly waiting: 2 threads for mutex cache_mu in put"},
	{"too many threads for the CPUs", func(p *program) {
		workers(8, func(name string) {
			p.runs(name, "hash", 1.25)
			p.queues(name, "hash", 8.75)
		})
	}, "waiting for a CPU: 8 threads ran 10.0s and queued 70.0s; CPU time: 100 % in hash"},
	{"hardly any CPU time, of which most is between samples", func(p *program) {
		s := p.thread("a")
		s.CPU, s.Unexplained = 1e8, true
		p.Add(&s)
		p.runs("a", "hash", 0.2)
		p.queues("a", "hash", 9)
	}, "waiting for a CPU: 1 thread ran 300ms and queued 9.00s; CPU time: 66 % in hash; 33 % of CPU time has no sample"},
	{"partly busy, the rest idle", func(p *program) {
		p.runs("main", "handle", 1.5)
		p.waits("main", "loop", 8.5, idleBy(waits.IdleEventLoop))
	}, "mostly asleep: 1 thread waits for events; busy on 0.15 CPUs, 100 % in handle"},
	{"a fifth of a CPU, limited by the GIL, the rest idle", func(p *program) {
		s := p.thread("busy")
		s.CPU, s.Ticks, s.Incomplete, s.Stack = 2*second, 100, true, p.stack("[libruby-3.1.so.3.1.2]")
		p.Add(&s)
		workers(3, func(name string) {
			p.waits(name, "serve", 0.4, heldBy(gil, p.names["busy"]))
			p.waits(name, "loop", 9.6, idleBy(waits.IdlePool))
		})
	}, "busy: 100 % in [libruby-3.1.so.3.1.2]; 0.2 CPUs; 3 threads wait for the GIL; " +
		"100 % has incomplete stacks"},
	{"busy, and others wait", func(p *program) {
		p.runs("main", "handle", 10)
		p.waits("writer", "flush", 9, Wait{Call: "fsync"})
	}, "busy: 100 % in handle; 1 CPU; 1 thread in fsync of flush"},
	{"a stopped program", func(p *program) {
		s := p.thread("main")
		s.Blocked, s.Stopped = 10*second, true
		p.Add(&s)
	}, "stopped: 1 thread by a signal or a debugger"},
	{"sleeps between samples", func(p *program) { p.waits("main", "poll", 9, Wait{}) },
		"mostly asleep: 1 thread sleeps in poll, for what is not known"},
	{"no time", func(*program) {}, ""},
	{"ended before the first sample", func(p *program) {
		p.duration = 216e3
		s := p.thread("t")
		s.CPU, s.Unexplained = 155e4, true
		p.Add(&s)
	}, ""},
}

func TestConclusionsAreAnExperts(t *testing.T) {
	for _, c := range conclusions {
		p := newProgram()
		c.build(p)
		if got := p.Sentence(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestWhatTimeDoesNotShowComesFirst(t *testing.T) {
	for note, want := range map[string]string{
		"DEADLOCK: a waits for b":                          "deadlock (below)",
		"POSSIBLE DEADLOCK: a waits for b":                 "possible deadlock (below)",
		"node (pid 7): unknown: promises are not examined": "whether it hangs is unknown (below)",
		"process 7: its cgroup / was frozen (as by …":      "its cgroup was frozen",
	} {
		p := newProgram(note)
		p.waits("main", "loop", 10, idleBy(waits.IdleEventLoop))
		want += "; mostly asleep: 1 thread waits for events"
		if got := p.Sentence(); got != want {
			t.Errorf("%s: %q, want %q", note, got, want)
		}
	}
}

func TestThreadsOutsideOfWorkLeaveRoomForWhatComesFirst(t *testing.T) {
	const work = "mostly asleep: 8 threads wait for work"
	for note, want := range map[string]string{
		"":                        work + ", 1 thread waits in _shutdown (threading), for threads or child processes",
		"DEADLOCK: a waits for b": "deadlock (below); " + work,
	} {
		p := newProgram(note)
		p.waits("main", "_shutdown (threading)", 10, join)
		workers(8, func(name string) { p.waits(name, "", 10, idleBy(waits.IdlePool)) })
		if got := p.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestChildProcessesWithMostOfTheTimeComeFirst(t *testing.T) {
	const apart = "exited child processes used 1.2 s of CPU meanwhile, not in the recording; --children includes them"
	for _, c := range []struct {
		note       string
		own, short float64
		want       string
	}{
		{apart, 1, 0, "exited child processes used 1.2 s of CPU, not recorded (--children); busy: "},
		{apart, 2, 0, "busy: "},
		{"", 1, 1, "short-lived child processes (true) have 50 % of the CPU time; busy: "},
		{"", 1, 0.9, "busy: "},
	} {
		p := newProgram(c.note)
		p.runs("sh", "main_loop", c.own)
		for i, program := range []string{"true", ""} {
			p.Add(&Sample{Thread: Thread{PID: 100}, CPU: int64(c.short*1e9) / 2, Ticks: 50, ShortLived: true,
				Program: program, Unexplained: i > 0})
		}
		if got := p.Sentence(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestConnectionsWithoutAnAnswerAreNamedWhereNothingWorks(t *testing.T) {
	const note = runstats.AtTheEnd + "nginx (pid 7): 3 connections to 127.0.0.1:8080 = app (pid 9): data sent, none " +
		"came back, the longest for at least 12.3 s"
	for _, c := range []struct {
		part, busy bool
		want       string
	}{
		{false, false, "mostly asleep: 1 thread waits for events, 1 thread sleeps in keep_alive_of_connections; " + note},
		{true, false, "mostly asleep: 1 thread waits for events, 1 thread sleeps in keep_alive_of_connections"},
		{false, true, "busy: 100 % in handle; 5 CPUs"},
	} {
		p := newProgram(note)
		p.Part = c.part
		p.waits("timer", "keep_alive_of_connections", 50, Wait{Call: "clock_nanosleep"})
		if p.waits("worker", "loop", 60, idleBy(waits.IdleEventLoop)); c.busy {
			p.runs("worker", "handle", 50)
		}
		if got := p.Sentence(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestChildProcessesAreNamedWhereNothingElseWorks(t *testing.T) {
	for _, used := range []float64{0, 0.5} {
		p := newProgram(runstats.UnrecordedChildren(1234, used))
		p.duration = 6 * int64(length)
		p.waits("master", "loop", 60, idleBy(waits.IdleEventLoop))
		const want = "1234 child processes not recorded (--children); mostly asleep: 1 thread waits for events"
		if got := p.Sentence(); got != want {
			t.Errorf("%v s: %q, want %q", used, got, want)
		}
		if p.runs("master", "handle", 9); strings.Contains(p.Sentence(), "child") {
			t.Errorf("%v s, a busy one: %q", used, p.Sentence())
		}
	}
}

func TestOtherProfilesSayWhereTheirValuesAre(t *testing.T) {
	for name, want := range map[string]string{"cpu": "busy: 80 % in f", "alloc_space": "alloc_space: 80 % in f",
		"blocked": "blocked: 85 % [owner not known], 11 % in f"} {
		p := newProgram()
		if p.OnlyValues = name; name == "blocked" {
			p.Add(&Sample{CPU: 57 * second, Collector: "[owner not known]"})
		}
		p.runs("", "f", 8)
		p.runs("", "g", 2)
		if got := p.Sentence(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
