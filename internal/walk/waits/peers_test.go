// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

func TestARecorderNamesTheOtherEndOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	files, own := NewOpenFiles(os.Getpid()), &Peers{}
	link := files.Link(int(r.Fd()))
	label := link + own.Of(files, &RemoteAddresses{}, link, int(r.Fd()), procmem.Now)
	l := ParseLabel(label)
	if peers := l.Peers(); l.File != "pipe" || l.Other != link || len(peers) != 1 || peers[0].PID != os.Getpid() {
		t.Errorf("%q: %+v, %v", label, l, peers)
	}
	// The owner changes, and the descriptors were listed just now.
	w.Close()
	if got := own.Of(files, &RemoteAddresses{}, link, int(r.Fd()), func() int64 { return 0 }); got != "" {
		t.Errorf("%q of a closed end", got)
	}
}

func TestPeersOfALabelAreParsed(t *testing.T) {
	for label, want := range map[string]string{
		"socket:[7] 127.0.0.1:80 = [8] nginx (pid 9), a, b (pid 10) and 3 more": "127.0.0.1:80 socket:[8] " +
			"[{9 nginx 0} {10 a, b 0}]",
		"socket:[7] 10.0.0.1:80":       "10.0.0.1:80  []",
		"socket:[7] = [9] app (pid 5)": " socket:[9] [{5 app 0}]",
	} {
		l := ParseLabel(label)
		if got := fmt.Sprint(l.Peer, " ", l.Other, " ", l.Peers()); got != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}

// Its path is that of a file; a reader that is stopped still has it open.
func TestTheReaderOfANamedPipeIsItsOtherEnd(t *testing.T) {
	fifo := t.TempDir() + "/audit"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := os.OpenFile(fifo, os.O_RDWR, 0) // else the others wait for each other
	if err != nil {
		t.Fatal(err)
	}
	reader := exec.Command("sh", "-c", `exec <"$1"; echo ready; exec sleep 1000`, "sh", fifo)
	testtargets.Ready(t, reader)
	both := exec.Command("sh", "-c", `exec 3<>"$1"; echo ready; exec sleep 1000`, "sh", fifo)
	testtargets.Ready(t, both)
	_ = keep.Close()
	for mode, want := range map[int][]int{
		os.O_WRONLY: {reader.Process.Pid, both.Process.Pid}, os.O_RDONLY: {both.Process.Pid},
		os.O_RDWR: {reader.Process.Pid, both.Process.Pid},
	} {
		own, err := os.OpenFile(fifo, mode|unix.O_NONBLOCK, 0) // no wait for another end
		if err != nil {
			t.Fatal(err)
		}
		w := Wait{Kind: Descriptor, FD: &OpenFile{FD: FileNumber(own.Fd())}}
		NewOpenFiles(os.Getpid()).AddFileDetails(&w)
		var got []int
		for _, p := range w.FD.Peers {
			got = append(got, p.PID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if f := w.FD; f.Type != "pipe" || f.Path != fifo || !slices.Equal(got, want) {
			t.Errorf("mode %d: %+v, want processes %v", mode, f, want)
		}
		// A recorder's label.
		var r Peers
		files := NewOpenFiles(os.Getpid())
		link := files.NamedPipe(int(own.Fd()), files.Link(int(own.Fd())))
		for range 2 { // listed, and known
			l := ParseLabel(link + r.Of(files, &RemoteAddresses{}, link, int(own.Fd()), procmem.Now))
			got = nil
			for _, p := range l.Peers() {
				got = append(got, p.PID)
			}
			slices.Sort(got)
			if l.File != "pipe" || l.Peer != fifo || l.Other+" "+fifo != link || !slices.Equal(got, want) {
				t.Errorf("mode %d, %s: %+v, %v, want processes %v", mode, link, l, got, want)
			}
		}
		_ = own.Close()
	}
}
