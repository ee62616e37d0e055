// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/safeopen"
	"prywalk/internal/testtargets"
)

func TestPerfMapsOfOtherUsersAreNotUsed(t *testing.T) {
	const nobody = 65534
	name := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	own := func() error { return os.WriteFile(name, []byte("1000 10 jitted\n"), 0o600) }
	for _, c := range []struct {
		what string
		make func() error
		root bool
		used bool
	}{
		{"the user's own", own, false, true},
		{"nobody's", func() error { return errors.Join(own(), os.Chown(name, nobody, nobody)) }, true, false},
		{"writable by all users", func() error { return errors.Join(own(), os.Chmod(name, 0o666)) }, false, false},
		{"of an earlier process", func() error {
			hour := time.Now().Add(-time.Hour)
			return errors.Join(own(), os.Chtimes(name, hour, hour))
		}, false, false},
		{"a pipe", func() error { return syscall.Mkfifo(name, 0o600) }, false, false},
		{"a link", func() error { return os.Symlink("/etc/passwd", name) }, false, false},
		{"a directory", func() error { return os.Mkdir(name, 0o700) }, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			if c.root {
				testtargets.NeedRoot(t, "make another user's files")
			}
			defer os.Remove(name)
			if err := c.make(); err != nil {
				t.Fatal(err)
			}
			n := NewNamer()
			defer n.Close()
			if pm := n.perfMap(os.Getpid(), true); (pm != nil) != c.used {
				t.Errorf("perf map used: %v, want %v", pm != nil, c.used)
			}
		})
	}
}

func TestDebugFilesOfOtherUsersAreNotOpened(t *testing.T) {
	testtargets.NeedRoot(t, "make another user's files")
	name := t.TempDir() + "/a.debug"
	if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for uid, opened := range map[int]bool{0: true, 65534: false} {
		if err := os.Chown(name, uid, uid); err != nil {
			t.Fatal(err)
		}
		f, err := (&loadedcode.TrustedFiles{PID: os.Getpid()}).Debug(name)
		if (err == nil) != opened {
			t.Errorf("file of user %d: error %v, want it opened: %v", uid, err, opened)
		}
		if err == nil {
			f.Close()
		}
	}
}

func TestPerfMapOfAProcessThatChangedItsUserIsOpened(t *testing.T) {
	testtargets.NeedRoot(t, "become another user")
	const user = 65534
	cmd := exec.Command(need(t, "python3"), "-c", "import os\nprint('ready', flush=True)\ninput()\n"+
		fmt.Sprintf("os.setgid(%d)\nos.setuid(%[1]d)\nprint('changed', flush=True)\ninput()", user))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says := testtargets.Ready(t, cmd)
	files := loadedcode.TrustedFiles{PID: cmd.Process.Pid}
	if f, err := files.Debug("/nonexistent.debug"); err == nil {
		f.Close()
		t.Fatal("a file that does not exist is opened")
	}
	fmt.Fprintln(in)
	if line, err := says.ReadString('\n'); line != "changed\n" {
		t.Fatalf("%q, %v", line, err)
	}
	name := fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)
	if err := os.WriteFile(name, []byte("1000 10 f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	if err := os.Chown(name, user, user); err != nil {
		t.Fatal(err)
	}
	f, err := files.PerfMap()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestPerfMapOfAnEndedProcessIsReadFurther(t *testing.T) {
	testtargets.NeedRoot(t, "start a process of another user")
	const user = 65534
	cmd := exec.Command(need(t, "sleep"), "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	defer end()
	name := fmt.Sprintf("/tmp/perf-%d.map", pid)
	if err := os.WriteFile(name, []byte("1000 10 early\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	if err := os.Chown(name, user, user); err != nil {
		t.Fatal(err)
	}
	n := NewNamer()
	defer n.Close()
	if got, _, _, _ := n.perfMap(pid, true).Lookup(0x1000); got != "early" {
		t.Fatalf("%q, want early", got)
	}
	appendTo(t, name, "2000 10 late\n")
	end()
	n.Refresh()
	if got, _, _, _ := n.perfMap(pid, true).Lookup(0x2000); got != "late" {
		t.Errorf("after the process's end: %q, want late", got)
	}
}

func TestPerfMapOlderThanAnEndedProcessIsNotUsed(t *testing.T) {
	cmd := exec.Command(need(t, "sleep"), "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	files := loadedcode.TrustedFiles{PID: cmd.Process.Pid}
	f, err := files.PerfMap()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err == nil {
		f.Close()
		t.Fatal("there is a perf map of another process")
	}
	name := fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)
	if err := os.WriteFile(name, []byte("1000 10 f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name)
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if f, err := files.PerfMap(); !errors.Is(err, safeopen.ErrOutdated) {
		t.Errorf("%v, %v, want %v", f, err, safeopen.ErrOutdated)
	}
}
