// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestWindowsAddUpToTheRecordingAndTheKernelsCPUTime(t *testing.T) {
	t.Parallel()
	c := newCollector(t, "").start()
	for _, args := range testtargets.First([][]string{
		{"--endpoint", "http://" + c.http, "--protocol", "http", "--aggregate"}, {"--endpoint", "http://" + c.grpc},
	}) {
		_ = os.Remove(c.file())
		c.stop()
		c.start()
		l := startLoad(t, "OTEL_SERVICE_NAME=shop", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=a%20b")
		a := startAgent(t, l, append(args, "--service-from-environment", "--attribute", "k8s.node.name=n1")...)
		before := l.cpu()
		l.compute()
		eventually(t, "two windows", func() bool { return a.metric("sent_messages_total") >= 2 })
		if r, err := http.Get("http://" + a.metrics + "/healthz"); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("GET /healthz: %v, %v, want status 200", r, err)
		}
		l.compute()
		used := l.cpu() - before
		a.awaitTicks()
		a.end()
		received := c.sums()
		compareSums(t, received, a.recorded())
		if cpu := ofClock(received, "cpu"); cpu != used || used < 2*loadThreads*loadMilliseconds*1e6 {
			t.Errorf("%v: %d ns of CPU time received, want %d, as charged by the kernel", args, cpu, used)
		}
		times, values := 0, 0
		for _, m := range c.messages() {
			times, values = times+m.Times, values+m.Values
			r := m.Resources[strconv.Itoa(l.pid)]
			for key, want := range map[string]any{
				"service.name": "shop", "deployment.environment.name": "a b", "k8s.node.name": "n1",
				"process.executable.name": "gated", "process.pid": float64(l.pid), "os.type": "linux",
			} {
				if r[key] != want {
					t.Errorf("resource attribute %s is %v, want %v", key, r[key], want)
				}
			}
		}
		if aggregate := len(args) > 4; aggregate != (times == 0) || !aggregate && times != values {
			t.Errorf("%v: %d time stamps for %d values, want none with --aggregate, else one for each", args, times, values)
		}
	}
}

func TestNothingIsLostWhileTheReceiverIsAway(t *testing.T) {
	t.Parallel()
	c, spool := newCollector(t, ""), filepath.Join(t.TempDir(), "spool")
	l := startLoad(t)
	a := startAgent(t, l, "--endpoint", "http://"+c.grpc, "--spool", spool)
	before := l.cpu()
	l.compute()
	eventually(t, "two messages wait", func() bool { return a.metric("waiting_messages") >= 2 })
	if files, err := filepath.Glob(filepath.Join(spool, "*.otlp.gz")); err != nil || len(files) == 0 {
		t.Errorf("%d files in the spool, want some: %v", len(files), err)
	}
	c.start()
	eventually(t, "all messages are sent", func() bool {
		return a.metric("waiting_messages") == 0 && a.metric("sent_messages_total") > 0
	})
	c.stop()
	l.compute()
	eventually(t, "a message waits", func() bool { return a.metric("waiting_messages") >= 1 })
	c.start()
	used := l.cpu() - before
	a.awaitTicks()
	a.end()
	received := c.sums()
	compareSums(t, received, a.recorded())
	if cpu := ofClock(received, "cpu"); cpu != used {
		t.Errorf("%d ns of CPU time received, want %d, as charged by the kernel", cpu, used)
	}
	if files, err := os.ReadDir(spool); err != nil || len(files) != 0 {
		t.Errorf("%d files are left in the spool, want none: %v", len(files), err)
	}
}

func TestKilledAgentLosesItsLastWindowOnly(t *testing.T) {
	t.Parallel()
	c, spool := newCollector(t, ""), filepath.Join(t.TempDir(), "spool")
	l := startLoad(t)
	args := []string{"--endpoint", "http://" + c.http, "--protocol", "http", "--spool", spool}
	a := startAgent(t, l, args...)
	before := l.cpu()
	l.compute()
	used := l.cpu() - before
	a.awaitTicks()
	windows := a.metric("windows_total")
	// A thread's last samples wait up to five seconds.
	eventually(t, "the window is in the spool", func() bool {
		return a.metric("windows_total") >= windows+7 && a.metric("waiting_messages") >= windows+7
	})
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	bounded.Receive(t, "the killed agent ends", a.ended)
	c.start()
	b := startAgent(t, l, args...)
	eventually(t, "all messages are sent", func() bool {
		return b.metric("waiting_messages") == 0 && b.metric("sent_messages_total") > 1
	})
	b.end()
	if cpu := ofClock(c.sums(), "cpu"); cpu < used {
		t.Errorf("%d ns of CPU time received, want at least the %d charged before the agent was killed", cpu, used)
	}
}

func TestLargeMessagesAreSplit(t *testing.T) {
	t.Parallel()
	c := newCollector(t, "").start()
	l := startLoad(t)
	const most = 64 << 10
	a := startAgent(t, l, "--endpoint", "http://"+c.grpc, "--max-message", "64K", "-F", "1000", "--window", "2s")
	l.compute()
	l.compute()
	a.awaitTicks()
	a.end()
	compareSums(t, c.sums(), a.recorded())
	for _, m := range c.messages() {
		if m.Size > most {
			t.Errorf("a message of %d bytes, want at most %d", m.Size, most)
		}
	}
}

func TestCertificatesAndTokens(t *testing.T) {
	t.Parallel()
	pki := newAuthority(t)
	c := newCollector(t, "tls:\n  cert_file: "+pki.server.cert+"\n  key_file: "+pki.server.key+"\n  client_ca_file: "+
		pki.ca+"\n").start()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range testtargets.First([][]string{
		{"--endpoint", "https://" + c.grpc}, {"--endpoint", "https://" + c.http, "--protocol", "http"},
	}) {
		_ = os.Remove(c.file())
		c.stop()
		c.start()
		l := startLoad(t)
		none := startAgent(t, l, append(args, "--ca", pki.ca, "--flush", "100ms")...)
		eventually(t, "sending fails", func() bool { return none.metric("send_failures_total") > 0 })
		none.end()
		messages := none.stderr.String()
		if none.metric("sent_messages_total") > 0 || !strings.Contains(messages, "cannot send") {
			t.Errorf("without a client certificate: want no message sent and \"cannot send\": %q", messages)
		}
		a := startAgent(t, l, append(args, "--ca", pki.ca, "--cert", pki.client.cert, "--key", pki.client.key,
			"--bearer-token", token, "--header", "X-Scope-OrgID=t1")...)
		l.compute()
		a.awaitTicks()
		a.end()
		compareSums(t, c.sums(), a.recorded())
		for _, m := range c.messages() {
			if m.Headers["authorization"] != "Bearer s3cret" || m.Headers["x-scope-orgid"] != "t1" {
				t.Errorf("%v: headers are %v, want the token and the tenant", args, m.Headers)
			}
		}
	}
}
