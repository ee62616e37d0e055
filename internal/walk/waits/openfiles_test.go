// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"prywalk/internal/testtargets"
)

func TestThePeersOfAPolledPipeAreKnown(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	writer := exec.Command("sleep", "60")
	writer.ExtraFiles = []*os.File{w}
	testtargets.Child(t, writer)
	_ = w.Close()
	polled := Wait{Kind: Descriptor, FDs: []OpenFile{{FD: FileNumber(r.Fd())}}}
	read := Wait{Kind: Descriptor, FD: &OpenFile{FD: FileNumber(r.Fd())}}
	splice := Wait{Kind: Descriptor, FDs: []OpenFile{{FD: FileNumber(os.Stdin.Fd())}, {FD: FileNumber(r.Fd())}}}
	for _, wait := range []*Wait{&polled, &read, &splice} {
		NewOpenFiles(os.Getpid()).AddFileDetails(wait)
	}
	for _, d := range []OpenFile{polled.FDs[0], splice.FDs[1]} {
		if len(d.Peers) != 1 || d.Peers[0].PID != writer.Process.Pid {
			t.Errorf("peers %v, want process %d", d.Peers, writer.Process.Pid)
		}
	}
	if polled.String() != read.String() {
		t.Errorf("%q, and %q in read", polled.String(), read.String())
	}
}

func TestAWaitForAShellNamesItsCommand(t *testing.T) {
	shell := exec.Command("sh", "-c", "cat; true")
	if _, err := shell.StdinPipe(); err != nil { // open until the test ends
		t.Fatal(err)
	}
	testtargets.Child(t, shell)
	pid := shell.Process.Pid
	w := Wait{Kind: Child, Child: pid}
	testtargets.Eventually(t, "the wait has the name of the shell's command", func() bool {
		NewOpenFiles(os.Getpid()).AddFileDetails(&w)
		return w.String() == fmt.Sprintf("child process %d sh: cat", pid)
	})
	want := fmt.Sprintf("child sh: cat (pid %d)", pid)
	if got := ChildWaitedFor(os.Getpid(), pid).ChildLabel(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChildrenComeBeforeTheProcessThatMadeTheirPipe(t *testing.T) {
	d := OpenFile{FD: 4}
	d.addPeers(5, []endpoint{{Peer{5, "app", 3}, true, false}, {Peer{5, "app", 4}, false, true},
		{Peer{9, "worker", 3}, true, false}, {Peer{9, "worker", 4}, false, true}}, true)
	if want := "worker (pid 9), app (pid 5)"; d.peerNames() != want {
		t.Errorf("%q, want %q", d.peerNames(), want)
	}
}

func TestADumpNamesTheDescriptorsOfAPoll(t *testing.T) {
	listen := OpenFile{FD: 3, Path: "socket:[7]", Type: "socket", Local: "127.0.0.1:80", State: "LISTEN"}
	w := Wait{Kind: Descriptor, FDs: []OpenFile{listen, {FD: 5, Path: "pipe:[8]", Type: "pipe"}}, Timed: true}
	want := "2 descriptors: socket 127.0.0.1:80 LISTEN (fd 3), pipe:[8] (fd 5), with a time-out"
	if got := w.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := w.Label(); got != "2 descriptors" {
		t.Errorf("label %q names descriptors, which differ among processes", got)
	}
	w.FDs = append(w.FDs, listen, listen, listen)
	want = "5 descriptors: socket 127.0.0.1:80 LISTEN (fd 3), pipe:[8] (fd 5), socket 127.0.0.1:80 LISTEN (fd 3), " +
		"socket 127.0.0.1:80 LISTEN (fd 3), …, with a time-out"
	if got := w.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
