// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

// Requests of a shop below gunicorn. One of /pay holds what those of /order wait for, one of /query has the only
// connection.
var geventRequests = map[string]int{"/order": 40, "/price": 30, "/report": 20, "/query": 10}

var listensAt = regexp.MustCompile(`Listening at: http://(\S+)`)

// startGunicorn returns the process of the only worker.
func startGunicorn(t *testing.T, python, modules, upstream string) (worker int, address string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(python, "-m", "gunicorn.app.wsgiapp", "-k", "gevent", "-w", "1", "-b", "127.0.0.1:0", "--chdir",
		"testdata", "--log-file", log, "shop:app")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1", "UPSTREAM="+upstream)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	workers := func() (pids []int) {
		pid := strconv.Itoa(cmd.Process.Pid)
		children, _ := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
		for child := range strings.FieldsSeq(string(children)) {
			n, _ := strconv.Atoi(child)
			pids = append(pids, n)
		}
		return pids
	}
	t.Cleanup(func() {
		started := workers()
		_ = cmd.Process.Kill() // first, as it replaces a worker that ends
		for _, pid := range started {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = cmd.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log)
			t.Logf("gunicorn's log:\n%s", said)
		}
	})
	testtargets.Eventually(t, "gunicorn has a worker", func() bool {
		said, _ := os.ReadFile(log)
		at := listensAt.FindSubmatch(said)
		if pids := workers(); len(pids) == 1 {
			worker = pids[0]
		}
		if at != nil {
			address = string(at[1])
		}
		return at != nil && worker != 0
	})
	return worker, address
}

func TestHungRequestsOfGunicornWithGevent(t *testing.T) {
	testtargets.OnlyInAll(t, "a server of greenlets")
	modules := filepath.Join(testtargets.WebServers(t, "gevent/site-packages/gevent/__init__.py"), "gevent/site-packages")
	ran := 0
	for version, exe := range pythons(t) {
		const suffix = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'), end='')"
		abi, err := bounded.Output(exec.Command(exe, "-c", suffix))
		if err != nil {
			t.Fatalf("%s: %v", exe, err)
		}
		if _, err := os.Stat(filepath.Join(modules, "greenlet/_greenlet"+string(abi))); err != nil { // of another release
			continue
		}
		ask := exec.Command(exe, "-c", "import gunicorn.workers.ggevent")
		ask.Env = append(os.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := bounded.AllOutput(ask); err != nil {
			t.Fatalf("%s: %v: %s", exe, err, out)
		}
		ran++
		t.Run(version, func(t *testing.T) {
			upstream := testtargets.ListenSilently(t)
			pid, address := startGunicorn(t, exe, modules, upstream.Address)
			testtargets.AskAll(t, address, map[string]int{"/pay": 1})
			testtargets.AskAll(t, address, geventRequests)
			testtargets.Eventually(t, "the upstream has all requests", func() bool { return upstream.Requests() == 31 })
			var truth map[uint64][][2]any
			testtargets.Read(t, address, "/stacks", &truth)
			testtargets.Asleep(t, pid)
			p := observed.Dump(t, pid, dump.Options{})
			known, n := map[string]int{}, 0
			for _, stack := range truth {
				var b strings.Builder
				for _, f := range stack {
					fmt.Fprintf(&b, "%v:%v|", f[0], f[1])
				}
				if !strings.HasPrefix(b.String(), "Hub.run:") { // it runs again
					known[b.String()]++
					n++
				}
			}
			got := map[string]int{}
			for task := range stacks.Each(p.Tasks) {
				got[greenletStack(task)] += task.Count
			}
			if !maps.Equal(got, known) {
				t.Errorf("%v, want %v", got, known)
			}
			dumped := observed.TextOf(t, p, fmt.Sprintf(", %d greenlets, 40 of them in order at shop.py:27", n))
			for _, want := range []string{"\n40 waiting greenlets (passive read)\n", "\n30 waiting", "\n20 waiting"} {
				if strings.Count(dumped, want) != 1 {
					t.Errorf("not once %q in\n%s", want, dumped)
				}
			}
			l := locks.New()
			l.Processes = []*stacks.Process{p}
			l.Examine(locks.AsRead{})
			var b strings.Builder
			if err := text.WriteLocks(&b, l); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("; nothing runs, %d greenlets pending; ", n); !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, b.String())
			}
		})
	}
	testtargets.Need(t, ran > 0, "a Python for which gevent was fetched", testtargets.FetchServers)
}
