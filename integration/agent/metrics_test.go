// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestRefusedMessagesAreDroppedAndReportedOnce(t *testing.T) {
	t.Parallel()
	c := newCollector(t, "").start()
	l := startLoad(t)
	a := startAgent(t, l, "--endpoint", "http://"+c.http+"/nothing", "--protocol", "http")
	l.compute()
	eventually(t, "two messages are dropped", func() bool {
		return a.metric(`lost_intervals_total{reason="not_found"}`) > 0 && a.metric("send_failures_total") >= 2
	})
	if n := a.metric("waiting_messages"); n > 1 {
		t.Errorf("%v messages wait, want at most one", n)
	}
	a.end()
	if n := strings.Count(a.stderr.String(), " refuses messages, which are dropped and counted (not_found)"); n != 1 {
		t.Errorf("the refusal is reported %d times, want once: %s", n, &a.stderr)
	}
}

func TestAgentReportsWhatItSamples(t *testing.T) {
	t.Parallel()
	l := startLoad(t)
	for messages, rule := range map[string][]string{
		"samples 1 process; sends to http://127.0.0.1:1\n":                         {"-p", strconv.Itoa(l.pid)},
		"no process is selected now, waits for one; sends to http://127.0.0.1:1\n": {"--unit", "no-such-unit"},
	} {
		args := append([]string{"agent", "--endpoint", "http://127.0.0.1:1", "-d", "1s", "--flush", "100ms"}, rule...)
		out, err := bounded.AllOutput(exec.Command(binary, args...))
		if !strings.Contains(string(out), "prywalk: "+messages) {
			t.Errorf("%v: %v: want %q: %s", rule, err, messages, out)
		}
	}
}

func TestAgentReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	testtargets.NeedRoot(t, "run as another user")
	startLoad(t)
	dir, err := os.MkdirTemp("/var/tmp", "prywalk-unread-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	sleep := "no-such-" + strconv.Itoa(os.Getpid())
	for from, to := range map[string]string{binary: "prywalk", "/bin/sleep": sleep} {
		if text, err := bounded.AllOutput(exec.Command("install", "-m", "0755", from, dir+"/"+to)); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	unprivileged := func(args ...string) *exec.Cmd {
		return exec.Command("setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups"}, args...)...)
	}
	own := unprivileged(dir+"/"+sleep, "600")
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = own.Process.Kill(), own.Wait() })
	eventually(t, "the unprivileged user's program runs", func() bool {
		exe, err := os.Readlink("/proc/" + strconv.Itoa(own.Process.Pid) + "/exe")
		return err == nil && exe == dir+"/"+sleep
	})
	out, err := bounded.AllOutput(unprivileged(dir+"/prywalk", "agent", "--match", "^(gated|"+sleep+")$", "--endpoint",
		"http://127.0.0.1:1", "-d", "1s", "--flush", "100ms"))
	if !regexp.MustCompile(`prywalk: samples 1 process; sends to http://127\.0\.0\.1:1
(?s:.*)prywalk: [0-9]+ selected process(es)? cannot be read: process [0-9]+: it runs as user root`).Match(out) {
		t.Errorf("agent: %v: want the number and reason of unreadable processes: %s", err, out)
	}
}
