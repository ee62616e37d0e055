// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// The steps are those of docs/agent.md, with a receiver in place of the Collector.
const installAgent = `set -e
dpkg -i /tests/prywalk.deb
useradd --system --no-create-home --shell /usr/sbin/nologin prywalk-agent
install -d -m 0750 -o root -g prywalk-agent /etc/prywalk
echo secret >/etc/prywalk/token
chown root:prywalk-agent /etc/prywalk/token
chmod 0640 /etc/prywalk/token
mkdir /etc/systemd/system/prywalk-agent.service.d
cat >/etc/systemd/system/prywalk-agent.service.d/endpoint.conf <<END
[Service]
ExecStart=
ExecStart=/usr/bin/prywalk agent -a --endpoint http://127.0.0.1:4318 --protocol http \
    --spool /var/lib/prywalk/spool --metrics 127.0.0.1:9102 --max-pause off --max-overhead 50%%
END
systemctl daemon-reload
`

const agentUnit = "prywalk-agent"

// patience is the watchdog's minute, the pause before a restart, and an emulated machine's time for the rest.
const patience = 5 * time.Minute

// sh runs a script, which must succeed.
func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := bounded.AllOutput(exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return strings.TrimSpace(string(out))
}

func property(t *testing.T, unit, name string) string {
	t.Helper()
	return sh(t, "systemctl show --value -p "+name+" "+unit)
}

// awaitJournal returns the unit's lines when they have a text n times.
func awaitJournal(t *testing.T, text string, n int) (lines string) {
	t.Helper()
	testtargets.Eventually(t, "the journal has "+text, func() bool {
		lines = sh(t, "journalctl --no-pager -o cat -u "+agentUnit)
		return strings.Count(lines, text) >= n
	})
	return lines
}

// receiver takes an agent's messages.
func receiver(t *testing.T) <-chan int64 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:4318")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int64, 1000)
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got <- n
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return got
}

// awaitMessage returns after a message at which a condition holds.
func awaitMessage(t *testing.T, got <-chan int64, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case n := <-got:
			if n > 0 && holds() {
				return
			}
		case <-ctx.Done():
			t.Fatalf("no message that fits in %v:\n%s", patience, sh(t, "systemctl status "+agentUnit+" 2>&1 || true"))
		}
	}
}

func TestSystemdRunsThePackagesAgent(t *testing.T) {
	if os.Getenv("PRYWALK_SYSTEMD_TESTS") == "" {
		t.Skip("needs systemd as the first program: make test-systemd")
	}
	sh(t, "systemd-run --unit=load busy 3000")
	sh(t, installAgent)
	got := receiver(t)
	sh(t, "systemctl enable --now "+agentUnit)
	first := property(t, agentUnit, "MainPID")
	if s := property(t, agentUnit, "ActiveState"); s != "active" {
		t.Fatalf("the state is %s", s)
	}
	awaitMessage(t, got, func() bool { return true })
	awaitJournal(t, "sends to http://127.0.0.1:4318", 1)

	t.Run("restart", func(t *testing.T) {
		sh(t, "systemctl restart "+agentUnit)
		for len(got) > 0 { // of the agent before
			<-got
		}
		if second := property(t, agentUnit, "MainPID"); second == first || second == "0" {
			t.Errorf("the agent's pid was %s and is %s", first, second)
		}
		awaitMessage(t, got, func() bool { return true })
		if lines := awaitJournal(t, "sends to http://127.0.0.1:4318", 2); !strings.Contains(lines, "sent in") {
			t.Errorf("the end is not in the journal:\n%s", lines)
		}
	})
	t.Run("watchdog", func(t *testing.T) { watchdog(t, got) })
	t.Run("wrong flag", wrongFlag)
	t.Run("unit", selectUnit) // the agent, which would trace threads of the unit, has ended
	t.Run("container", container)
	t.Logf("the journal:\n%s", sh(t, "journalctl --no-pager -o cat -u "+agentUnit))
}

// An agent that is stopped uses no CPU time, so that only the service manager can see that it does nothing.
func watchdog(t *testing.T, got <-chan int64) {
	before := property(t, agentUnit, "MainPID")
	sh(t, "kill -STOP "+before)
	awaitMessage(t, got, func() bool { return property(t, agentUnit, "NRestarts") != "0" })
	if after := property(t, agentUnit, "MainPID"); after == before || after == "0" {
		t.Errorf("the agent's pid was %s and is %s", before, after)
	}
	awaitJournal(t, "Watchdog timeout", 1)
}

// dumpsOnly dumps the selected process, and no other. In a slow machine a running thread can fail to be read.
func dumpsOnly(t *testing.T, selection ...string) {
	t.Helper()
	testtargets.Eventually(t, strings.Join(selection, " ")+" has the thread in main.runLoad", func() bool {
		out := string(prywalk(t, append([]string{"dump", "--max-pause", "off"}, selection...)...))
		if strings.Count("\n"+out, "\nprocess ") > 1 {
			t.Fatalf("dump %v:\n%s", selection, out)
		}
		return strings.Contains(out, "main.runLoad")
	})
}

func selectUnit(t *testing.T) {
	load := property(t, "load", "MainPID")
	for _, name := range []string{"load", "load.service"} {
		dumpsOnly(t, "--unit", name)
	}
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	prywalk(t, slices.Concat([]string{"record", "--unit", "load", "-d", "2", "-o", file}, noLimits)...)
	for _, s := range parsed(t, file).Sample {
		if got := s.NumLabel["pid"]; len(got) != 1 || strconv.FormatInt(got[0], 10) != load {
			t.Fatalf("a sample of process %v, want %s only", got, load)
		}
	}
	runAs(t, 0, "dump", "--unit", "no-such-unit").must(t, 1, "no-such-unit")
}

// Such an agent would end the same way for ever.
func wrongFlag(t *testing.T) {
	sh(t, "systemctl stop "+agentUnit)
	sh(t, "sed -i 's/agent -a/agent -a --no-such-flag/' /etc/systemd/system/prywalk-agent.service.d/endpoint.conf; "+
		"systemctl daemon-reload")
	out, err := bounded.AllOutput(exec.Command("systemctl", "start", agentUnit))
	if err == nil {
		t.Errorf("start succeeds with a wrong flag: %s", out)
	}
	if s := property(t, agentUnit, "ActiveState"); s != "failed" {
		t.Errorf("the state is %s, want failed", s)
	}
	awaitJournal(t, "no-such-flag", 1)
}

// A container of Podman's under systemd has a group of cgroup v2 with limits, which the engine makes of its flags.
func container(t *testing.T) {
	sh(t, `mkdir -p /srv/root/proc /srv/root/sys /srv/root/dev /srv/root/etc /srv/root/tmp /srv/root/run
		cp /usr/bin/busy /usr/bin/prywalk /srv/root/
		printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' \
			>/etc/containers/storage.conf`) // the root is a tmpfs, on which there is no overlay
	const podman = "podman --cgroup-manager=systemd "
	const run = podman + "run --network none --log-driver none "
	out := strings.Fields(sh(t, run+"-d --name load --cpus 0.3 --memory 200m --rootfs /srv/root /busy 3000"))
	id := out[len(out)-1] // warnings come before
	defer sh(t, podman+"rm -f -t 0 load")
	pid := sh(t, podman+"inspect -f '{{.State.Pid}}' load")
	group := sh(t, "cat /proc/"+pid+"/cgroup")
	if !strings.HasPrefix(group, "0::/machine.slice/libpod-"+id) {
		t.Fatalf("the group is %q, want one of systemd's machine.slice", group)
	}
	// The scope or the group in it, by the engine's release, has the limit.
	limits := sh(t, "cd /sys/fs/cgroup/machine.slice/libpod-"+id+".scope && cat cpu.max */cpu.max")
	if !strings.Contains(limits, "30000 ") {
		t.Fatalf("cpu.max is %q, want 30000", limits)
	}
	for _, name := range []string{"load", id[:12]} {
		dumpsOnly(t, "--container", name)
	}
	file, stats := filepath.Join(t.TempDir(), "p.pb.gz"), filepath.Join(t.TempDir(), "stats")
	args := []string{"record", "--container", "load", "-d", "4", "-o", file, "--stats", stats}
	prywalk(t, slices.Concat(args, noLimits)...)
	for _, s := range parsed(t, file).Sample {
		if got := s.Label["container.name"]; len(got) != 1 || got[0] != "load" {
			t.Fatalf("a sample of container %v, want load", got)
		}
	}
	if text, err := os.ReadFile(stats); err != nil || !strings.Contains(string(text), `"target_quotas"`) {
		t.Errorf("the quota is not in the statistics: %v\n%s", err, text)
	}
	beside := run + "--rm --pid=container:load --cap-add=SYS_PTRACE --cpus 0.5 --memory 300m --rootfs /srv/root " +
		"/prywalk "
	testtargets.Eventually(t, "the neighbour's dump has main.runLoad", func() bool {
		return strings.Contains(sh(t, beside+"dump --max-pause off -n busy"), "main.runLoad")
	})
	if out := sh(t, beside+"doctor -p 1"); !strings.Contains(out, "50% of a CPU") {
		t.Errorf("doctor does not say the neighbour's own quota:\n%s", out)
	}
}
