// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"
)

func TestCtrlCWhileAPipeIsFullKeepsTheRecording(t *testing.T) {
	t.Parallel()
	path := testtargets.Fifo(t)
	full, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	size, err := unix.FcntlInt(full.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	filler := make([]byte, size)
	if _, err := full.Write(filler); err != nil {
		t.Fatal(err)
	}
	tty := testtargets.NewTerminal(t, 80)
	p := prepared(t, t.TempDir(), nil, "record", "-d", "1", "-p", burner(t), "-o", path)
	p.Stderr = tty.Slave
	p.begin(t)
	testtargets.Says(t, &tty.Out, "looking up symbols: ")
	// On a busy machine the line comes before the names do, and a signal would end their search.
	testtargets.Eventually(t, "prywalk writes to the full pipe", func() bool { return writes(p.Process.Pid, path) })
	send(t, p, unix.SIGINT)
	// If delivered after the write, prywalk no longer handles it.
	testtargets.Eventually(t, "the signal is delivered", func() bool { return !pending(t, p.Process.Pid) })
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := r.Read(filler); n != size || err != nil {
		t.Fatalf("read %d bytes from the pipe, want %d: %v", n, size, err)
	}
	full.Close()
	checkOneProfile(t, r)
	if code := p.code(t); code != errs.ExitOK || !strings.Contains(tty.Text(), "\x1b[Kprywalk: ") {
		t.Errorf("exit code %d, want 0 and the closing line: %q", code, tty.Out.String())
	}
}

// writes reports whether a thread of the process is in write(2) of the file.
func writes(pid int, path string) bool {
	calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, name := range calls {
		text, _ := os.ReadFile(name)
		var call, fd int
		if n, _ := fmt.Sscanf(string(text), "%d 0x%x ", &call, &fd); n < 2 || call != unix.SYS_WRITE {
			continue
		}
		if file, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); file == path {
			return true
		}
	}
	return false
}

func pending(t *testing.T, pid int) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(status), "ShdPnd:\t0000000000000000")
}

func TestSlowReadOfARecordingIsAnnounced(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(smallRecording(t), "prywalk.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	path, tty := testtargets.Fifo(t), testtargets.NewTerminal(t, 120)
	name := filepath.Base(path)
	p := prepared(t, filepath.Dir(path), nil, "report", name)
	p.Stdout, p.Stderr = tty.Slave, tty.Slave
	p.Env = append(p.Env, "NO_COLOR=1", "TERM=xterm")
	p.begin(t)
	line := "\r\x1b[Kreading " + name + " (Ctrl-C ends)"
	testtargets.Says(t, &tty.Out, line)
	if err := os.WriteFile(path, text, 0); err != nil {
		t.Fatal(err)
	}
	code, out := p.code(t), tty.Text()
	rest := strings.ReplaceAll(out, line, "")
	if code != errs.ExitOK || !strings.HasPrefix(rest, "\r\x1b[Kbusy: 100 % in compress; 1 CPU") {
		t.Errorf("exit code %d, want 0 and the report only: %q", code, out)
	}
}

func TestCtrlCDuringAReportKeepsTheOldPage(t *testing.T) {
	t.Parallel()
	dir, path, tty := t.TempDir(), testtargets.Fifo(t), testtargets.NewTerminal(t, 120)
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := prepared(t, dir, nil, "report", "--html", page, path)
	p.Stderr = tty.Slave
	p.begin(t)
	testtargets.Says(t, &tty.Out, "reading ")
	send(t, p, unix.SIGINT)
	code := p.code(t)
	list, _ := os.ReadDir(dir)
	if now, _ := os.ReadFile(page); code != 128+int(unix.SIGINT) || !bytes.Equal(now, []byte("old")) || len(list) != 1 {
		t.Errorf("exit code %d, want 130 and the old page only: %q, %v", code, now, list)
	}
}
