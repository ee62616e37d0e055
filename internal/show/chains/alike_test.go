// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"strings"
	"testing"

	"prywalk/internal/walk/waits"
)

// A recording has a chain for each object that a thread has waited for.
func TestAThreadOfSeveralAlikeChainsIsCountedOnce(t *testing.T) {
	var all []Interval
	for i := range 50 {
		w := waits.ManagedWait(waits.Semaphore, "threading.Condition", uint64(64+i), 0, false)
		from := int64(i) * 1e8
		all = append(all, Interval{ID: 7, PID: 7, From: from, To: from + 1e8, Blocked: 1e8, Next: NextOf(&w),
			Link: Link{PID: 7, TID: 7, Comm: "web", Function: "home", WaitsFor: &w}})
	}
	r, err := Build(all, 5e9)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	_ = r.Text(&b, 9)
	if len(r.Chains) != 50 || !strings.Contains(b.String(), "100 %  1 thread, 5.00s\n") {
		t.Errorf("%d chains\n%s", len(r.Chains), b.String())
	}
}

// Processes of a prefork server, goroutines, and threads at a condition each do the same: one entry, one conclusion.
func TestChainsThatAreAlikeAreOneEntry(t *testing.T) {
	bank := []waits.Peer{{PID: 5, Name: "bank"}}
	file := func(fd waits.FileNumber, peers ...waits.Peer) *waits.Wait {
		return &waits.Wait{Kind: waits.Descriptor, FD: &waits.OpenFile{FD: fd, Type: "socket", Remote: "127.0.0.1:80",
			Peers: peers}}
	}
	condition := func(address uint64) *waits.Wait {
		w := waits.ManagedWait(waits.Semaphore, "threading.Condition", address, 0, false)
		return &w
	}
	add := func(all []Interval, pid int, l Link, n Next) []Interval {
		l.PID, l.TID = pid, 100+len(all)
		return append(all, Interval{ID: l.TID, PID: pid, To: 1, Blocked: 1, Link: l, Next: n})
	}
	var server, pool, one []Interval
	for i := range 3 {
		server = add(server, 7+i, Link{Comm: "php", Function: "ask", WaitsFor: file(waits.FileNumber(3+i), bank...)},
			Next{Processes: bank})
		pool = add(pool, 7, Link{Comm: "web", Function: "home", WaitsFor: condition(uint64(64 + i))}, NextOf(condition(64)))
	}
	server = add(server, 6, Link{Comm: "php", Function: "sleep", WaitsFor: &waits.Wait{Kind: waits.Sleep}},
		Next{End: End{Kind: Timer}})
	one = add(pool[:1:1], 8, Link{Comm: "db", Function: "home", WaitsFor: condition(64)}, NextOf(condition(64)))
	var forks []Interval
	for i := range 2 {
		w := &waits.Wait{Kind: waits.Child, Ownership: waits.Ownership{OwnerProcess: 50 + i, OwnerName: "php"}}
		forks = add(forks, 7, Link{Comm: "php", Function: "run", WaitsFor: w}, NextOf(w))
	}
	locked := &waits.Wait{Kind: waits.Mutex, Symbol: "mu", Ownership: waits.Ownership{OwnerGone: 7, OwnerParent: 7}}
	child := add(nil, 50, Link{Comm: "php", Function: "log", WaitsFor: locked}, NextOf(locked))
	for _, c := range []struct {
		all  []Interval
		want string
	}{
		{forks, "2 of 2 blocked threads of php (pid 7) end outside, at php (several processes), which were not looked at; " +
			"prywalk dump --chains --children -p 7 includes those\n2 blocked threads, without idle waits\n\n" +
			"share  the chain ends\n100 %  outside, at php (several processes), which were not looked at\n\n" +
			"share  the chain passes through\n100 %  php (several processes)\n\nshare  chains\n100 %  2 threads\n" +
			"         php (pid 7): run waits for child\n         php (several processes)\n" +
			"         → outside, at php (several processes), which were not looked at\n"},
		{child, "1 of 1 blocked thread of php (pid 50) ends in log of php (pid 50), at mutex mu, taken by a thread of the " +
			"parent process before the fork: no thread of this process holds it\n1 blocked thread, without idle waits\n\n" +
			"share  the chain ends\n100 %  in log of php (pid 50), at mutex mu, " + Forked + "\n\n" +
			"share  chains\n100 %  1 thread\n         php (pid 50), thread 100: log waits for mutex mu\n" +
			"         → in log of php (pid 50), at mutex mu, " + Forked + "\n"},
		{server, "3 of 4 blocked threads of php (several processes) end outside, at bank (pid 5), which was not looked at; " +
			"prywalk dump --chains --match '^(php|bank)$' includes both\n4 blocked threads, without idle waits\n\n" +
			"share  the chain ends\n 75 %  outside, at bank (pid 5), which was not looked at\n" +
			" 25 %  in sleep of php (pid 6), which sleeps\n\n" +
			"share  the chain passes through\n 75 %  bank (pid 5)\n\nshare  chains\n 75 %  3 threads\n" +
			"         php (several processes): ask waits for socket 127.0.0.1:80 of bank (pid 5)\n         bank (pid 5)\n" +
			"         → outside, at bank (pid 5), which was not looked at\n 25 %  1 thread\n" +
			"         php (pid 6), thread 103: sleep waits for sleep\n         → in sleep of php (pid 6), which sleeps\n"},
		{pool, "where 3 of 3 blocked threads of web (pid 7) end is not known: a threading.Condition stores no owner\n" +
			"3 blocked threads, without idle waits\n\nshare  the chain ends\n" +
			"100 %  at home of web (pid 7), not known: a threading.Condition stores no owner\n\nshare  chains\n" +
			"100 %  3 threads\n         web (pid 7): home waits for semaphore (threading.Condition)\n" +
			"         → at home of web (pid 7), not known: a threading.Condition stores no owner\n"},
		{one, "where 1 of 1 blocked thread of web (pid 7) ends is not known: a threading.Condition stores no owner\n" +
			"2 blocked threads, without idle waits\n\nshare  the chain ends\n" +
			" 50 %  at home of web (pid 7), not known: a threading.Condition stores no owner\n" +
			" 50 %  at home of db (pid 8), not known: a threading.Condition stores no owner\n\nshare  chains\n" +
			" 50 %  1 thread\n         web (pid 7), thread 100: home waits for semaphore 0x40 (threading.Condition)\n" +
			"         → at home of web (pid 7), not known: a threading.Condition stores no owner\n" +
			" 50 %  1 thread\n         db (pid 8), thread 101: home waits for semaphore 0x40 (threading.Condition)\n" +
			"         → at home of db (pid 8), not known: a threading.Condition stores no owner\n"},
	} {
		r := followed(t, c.all)
		var b strings.Builder
		if err := r.Text(&b, 9); err != nil || b.String() != c.want {
			t.Errorf("%v\n%s\nwant\n%s", err, b.String(), c.want)
		}
		if len(r.Chains) != len(c.all) {
			t.Errorf("%d chains, want each process's and object's own for programs: %+v", len(r.Chains), r.Chains)
		}
	}
}
