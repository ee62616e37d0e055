// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/chains"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

// topology is a chain of processes, each of which waits for the next one; deadlocked, the last one for the first.
type topology struct {
	python, mutex []bool
	links         []string // pipe, unix, tcp or child: how a process waits for the next one
	end           string   // run, nap or deadlock
}

func randomTopology(r *rand.Rand) (t topology) {
	t.end = []string{"run", "nap", "deadlock"}[r.IntN(3)]
	n := 2 + r.IntN(3)
	for i := range n {
		t.python, t.mutex = append(t.python, r.IntN(3) == 0), append(t.mutex, r.IntN(3) == 0)
		kinds := []string{"pipe", "unix", "tcp", "child"}
		if t.end == "deadlock" && i == n-1 {
			kinds = kinds[:3]
		}
		if i < n-1 || t.end == "deadlock" {
			t.links = append(t.links, kinds[r.IntN(len(kinds))])
		}
	}
	return t
}

// want is the chain from the first process's main thread: processes and functions, then the end.
func (t *topology) want() (links []string, end chains.Kind) {
	end = map[string]chains.Kind{"run": chains.Running, "nap": chains.Timer, "deadlock": chains.Deadlock}[t.end]
	for i := range t.python {
		last := map[string]string{"run": "compute", "nap": "nap", "deadlock": "await_reply"}[t.end]
		if i < len(t.links) {
			last = map[bool]string{true: "await_child", false: "await_reply"}[t.links[i] == "child"]
		}
		if t.mutex[i] {
			links = append(links, fmt.Sprint(i, " await_mutex"))
		}
		links = append(links, fmt.Sprint(i, " ", last))
	}
	if t.end == "deadlock" {
		links = append(links, links[0])
	}
	return links, end
}

func connection(t *testing.T, kind string) (waiter, other *os.File) {
	t.Helper()
	switch kind {
	case "pipe":
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	case "unix":
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fds[0]), "unix"), os.NewFile(uintptr(fds[1]), "unix")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	defer two.Close()
	waiter, _ = one.(*net.TCPConn).File()
	other, _ = two.(*net.TCPConn).File()
	return waiter, other
}

// start starts the processes from the last one on, so that none inherits another's descriptors; a child is started by
// its parent. PIDs are in the order of the chain, 0 for a child.
func (t *topology) start(tt *testing.T, node, python string) []int {
	tt.Helper()
	n := len(t.python)
	inputs, outputs := make([]*os.File, n), make([]*os.File, n) // of process i: what it reads, what its waiter reads
	for i, kind := range t.links {
		if kind != "child" {
			inputs[i], outputs[(i+1)%n] = connection(tt, kind)
		}
	}
	pids := make([]int, n)
	var command []string
	var files []*os.File
	for i := n - 1; i >= 0; i-- {
		output := 0
		if outputs[i] != nil {
			files = append(files, outputs[i])
			output = 2 + len(files)
		}
		own := []string{t.end}
		switch {
		case i < len(t.links) && t.links[i] == "child":
			own = append([]string{"child", fmt.Sprint(output)}, command...)
		case i < len(t.links):
			files = append(files, inputs[i])
			own = []string{"read", fmt.Sprint(2 + len(files))}
		}
		if t.mutex[i] {
			own = append([]string{"mutex"}, own...)
		}
		command = append([]string{node}, own...)
		if t.python[i] {
			command = append([]string{python, "testdata/node.py"}, own...)
		}
		if i > 0 && t.links[i-1] == "child" {
			continue
		}
		cmd := exec.Command(command[0], command[1:]...)
		cmd.ExtraFiles = files
		pids[i] = testtargets.Child(tt, cmd).Process.Pid
		for _, f := range files {
			f.Close()
		}
		files = nil
	}
	return pids
}

// chainsOf returns the chains of live processes, also of those that one of them started.
func chainsOf(t *testing.T, pids []int) *chains.Report {
	t.Helper()
	var targets []*loadedcode.Process
	for _, pid := range pids {
		target, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		targets = append(targets, target)
	}
	l, err := ExamineLocks(targets, Options{MaxDepth: -1, Goroutines: true, Chains: true})
	if err != nil {
		t.Fatal(err)
	}
	return l.Followed
}

// addChildren sets the PIDs of processes that another one of the topology has started by now.
func (t *topology) addChildren(pids []int) (complete bool) {
	for i, kind := range t.links {
		if kind == "child" && pids[i+1] == 0 {
			child := waits.ChildWaitedFor(pids[i], 0)
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child.PID))
			if own, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pids[i])); len(text) == 0 || string(text) == string(own) {
				return false
			}
			pids[i+1] = child.PID
		}
	}
	return true
}

// Each dump, also of processes that still start, may have only links of the topology; in the end it has the whole
// chain.
func TestChainsOfRandomTopologies(t *testing.T) {
	all := pythons(t)
	python := all[len(all)-1]
	node := compile(t, "node.c", "-pthread", "-O1")
	for seed := range testtargets.Times(uint64(6), 100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			checkTopology(t, randomTopology(rand.New(rand.NewPCG(seed, 1))), node, python)
		})
	}
}

func checkTopology(t *testing.T, top topology, node, python string) {
	pids := top.start(t, node, python)
	index := map[int]int{}
	testtargets.Eventually(t, "all processes run", func() bool { return top.addChildren(pids) })
	for i, pid := range pids {
		index[pid] = i
	}
	links, end := top.want()
	want := fmt.Sprint(links, end)
	var got, why string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v\nwant %s\nlast %s %s", top, want, got, why)
		}
	})
	testtargets.Eventually(t, "the chain is whole", func() bool {
		r := chainsOf(t, pids)
		for i := range r.Chains {
			c := &r.Chains[i]
			var shown []string
			for j := range c.Links {
				l := &c.Links[j]
				if _, ok := index[l.PID]; !ok {
					t.Fatalf("a false link to process %d", l.PID)
				}
				shown = append(shown, fmt.Sprint(index[l.PID], " ", l.Function))
				if j > 0 {
					top.checkLink(t, index[c.Links[j-1].PID], index[l.PID])
				}
			}
			if first := &c.Links[0]; first.TID == pids[0] {
				if got, why = fmt.Sprint(shown, c.End.Kind), c.End.Why; c.End.Kind == chains.Deadlock && end != chains.Deadlock {
					t.Fatalf("a false deadlock: %s", got)
				}
			}
		}
		return got == want
	})
}

func (t *topology) checkLink(tt *testing.T, from, to int) {
	tt.Helper()
	if to != from && to != from+1 && !(t.end == "deadlock" && from == len(t.links)-1 && to == 0) {
		tt.Fatalf("a false link from process %d to %d", from, to)
	}
	if to == from && !t.mutex[from] && len(t.links) > 1 {
		tt.Fatalf("a false link within process %d", from)
	}
}
