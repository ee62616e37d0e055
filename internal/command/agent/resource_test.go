// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/container"
	"prywalk/internal/host/process"
	"prywalk/internal/testtargets"
)

func running(t *testing.T, pid int) processKey {
	t.Helper()
	st, err := process.ReadStatus("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	return processKey{pid, st.Start}
}

const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestServiceIsNamedByTheEnvironmentOnlyIfAsked(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read x")
	cmd.Env = append(os.Environ(), "OTEL_SERVICE_NAME=shop",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=other,a=b%2Cc,process.pid=1,=x,bad")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	of := func(o ResourceOptions) map[string]any {
		out := map[string]any{}
		for _, a := range newResources(o).attributesOf(running(t, cmd.Process.Pid), "sh") {
			if _, ok := out[a.key]; ok {
				t.Errorf("%s is twice", a.key)
			}
			out[a.key] = a.value
		}
		return out
	}
	for want, o := range map[string]ResourceOptions{
		"unknown_service:sh": {}, "shop": {Environment: true}, "flag": {Environment: true, Service: "flag"},
	} {
		got := of(o)
		if got["service.name"] != want {
			t.Errorf("%+v: %v", o, got)
		}
		exe, _ := filepath.EvalSymlinks("/bin/sh")
		if got["process.pid"] != int64(cmd.Process.Pid) || got["process.executable.path"] != exe {
			t.Errorf("%v", got)
		}
		if want == "shop" && got["a"] != "b,c" {
			t.Errorf("%v", got)
		}
	}
}

func TestEndedProcessKeepsWhatWasReadOfIt(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read x")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	p := running(t, cmd.Process.Pid)
	r := newResources(ResourceOptions{})
	r.readLater(p)
	r.read(<-r.toRead) // readLater has sent it
	testtargets.Kill(cmd)
	r.dropEnded(func(processKey) bool { return true })
	if list := r.attributesOf(p, "sh"); !hasKey(list, "process.executable.path") {
		t.Errorf("%v", list)
	}
	r.dropEnded(func(processKey) bool { return false })
	if len(r.known) != 0 {
		t.Errorf("%v", maps.Collect(maps.All(r.known)))
	}
}

func TestProcessesAreNotedWhileEndedOnesAreSearched(t *testing.T) {
	r := newResources(ResourceOptions{})
	r.root = t.TempDir()
	if err := os.Mkdir(r.root+"/7", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(r.root+"/7/status", 0o600); err != nil {
		t.Fatal(err)
	}
	r.known[processKey{pid: 7}] = processAttributes{}
	var searching sync.WaitGroup
	searching.Go(func() { r.dropEnded(func(processKey) bool { return false }) })
	w, err := os.OpenFile(r.root+"/7/status", os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	if !r.mu.TryLock() {
		t.Error("the processes are locked while one is read")
	} else {
		r.mu.Unlock()
	}
	_ = w.Close()
	if searching.Wait(); len(r.known) != 0 {
		t.Errorf("%d processes are known, want none", len(r.known))
	}
}

func TestAProcessHasNoAttributesOfAnotherWithItsPid(t *testing.T) {
	root := t.TempDir()
	run := func(p processKey, exe string) processKey {
		dir := filepath.Join(root, strconv.Itoa(p.pid))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(exe, dir+"/exe"); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"comm": "app\n", "status": "Name:\tapp\nTgid:\t7\nState:\tS (sleeping)\n",
			"stat": fmt.Sprintf("%d (app) S 1%s %d 0\n", p.pid, strings.Repeat(" 0", 17), p.start),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	r := newResources(ResourceOptions{})
	r.root = root
	check := func(p processKey, want any) {
		t.Helper()
		var got any
		for _, a := range r.attributesOf(p, "app") {
			if a.key == "process.executable.path" {
				got = a.value
			}
		}
		if got != want {
			t.Errorf("process %+v has the executable %v, want %v", p, got, want)
		}
	}
	unread := run(processKey{7, 50}, "/bin/unread")
	first := run(processKey{7, 100}, "/bin/first")
	check(unread, nil)
	check(first, "/bin/first")
	second := run(processKey{7, 200}, "/bin/second")
	check(first, "/bin/first")
	check(second, "/bin/second")
	check(first, "/bin/first")
}

func FuzzEnvironment(f *testing.F) {
	f.Add([]byte("A=b\x00OTEL_RESOURCE_ATTRIBUTES=a=b,c=%zz,=,\x00OTEL_SERVICE_NAME=\xff"), "0::/docker-"+id+".scope")
	f.Fuzz(func(t *testing.T, env []byte, groups string) {
		if n := len(fromEnvironment(env)); n > maxEnvironmentAttributes {
			t.Errorf("%d attributes", n)
		}
		got := container.ID(groups)
		if got != "" && (len(got) != 64 || !utf8.ValidString(got) || !strings.Contains(groups, got)) {
			t.Errorf("%q", got)
		}
	})
}
