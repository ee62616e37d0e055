// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func setting(unit, name string) (words []string) {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			words = append(words, strings.Fields(value)...)
		}
	}
	return words
}

func TestDocumentedUnitIsAcceptedBySystemd(t *testing.T) {
	t.Parallel()
	testtargets.NeedProgram(t, "systemd-analyze")
	unit := deployFile(t, "prywalk-agent.service")
	file := filepath.Join(t.TempDir(), "prywalk-agent.service")
	if err := os.WriteFile(file, []byte(strings.Replace(unit, "/usr/bin/prywalk", `"`+binary+`"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := bounded.AllOutput(exec.Command("systemd-analyze", "verify", file))
	if err != nil {
		t.Errorf("systemd-analyze verify: %v: %s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "/") || strings.HasPrefix(line, file) {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	text, err = bounded.AllOutput(exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=30", file))
	if err != nil {
		t.Errorf("systemd-analyze security: %v: %s", err, text)
	}
}

func TestDocumentedConfigurationTakesProfiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	configuration, _, _ := strings.Cut(block, "```")
	c := newCollector(t, "")
	for _, r := range [][2]string{
		{"localhost:4317", c.grpc}, {"localhost:4318", c.http}, {"debug: {}", "sums: {path: " + c.file() + "}"},
		{"[debug]", "[sums]"},
	} {
		if !strings.Contains(configuration, r[0]) {
			t.Errorf("the configuration in docs/agent.md lacks %q", r[0])
		}
		configuration = strings.ReplaceAll(configuration, r[0], r[1])
	}
	if err := os.WriteFile(filepath.Join(c.dir, "config.yaml"), []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	l := startLoad(t)
	out, err := bounded.AllOutput(exec.Command(binary, "agent", "-p", strconv.Itoa(l.pid), "-d", "1", "--endpoint",
		"http://"+c.http, "--protocol", "http"))
	if err != nil || len(c.messages()) == 0 {
		t.Errorf("agent: %v, %d messages: %s", err, len(c.messages()), out)
	}
}

func TestDocumentedManifestsSatisfyTheKubernetesTypes(t *testing.T) {
	t.Parallel()
	testtargets.OnlyInAll(t, "compiles Kubernetes' types")
	cmd := exec.Command("go", "run", "-C", "../kubernetes", ".")
	cmd.Stdin = strings.NewReader(deployFile(t, "sidecar.yaml") + "---\n" + deployFile(t, "daemonset.yaml"))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := bounded.Output(cmd)
	if want := "Pod app agent\nDaemonSet agent\n"; err != nil || string(out) != want {
		t.Errorf("kinds and containers of the manifests: %v: %s%s, want %s", err, out, &messages, want)
	}
}

// The agent runs as another user, with only the unit's capabilities, a read-only file system except for the spool,
// and a network with the receiver only.
func TestAgentRunsInTheUnitsSandbox(t *testing.T) {
	t.Parallel()
	testtargets.NeedRoot(t, "make namespaces and give capabilities")
	testtargets.NeedProgram(t, "ip")
	unit := deployFile(t, "prywalk-agent.service")
	ambient, bounding := setting(unit, "AmbientCapabilities"), setting(unit, "CapabilityBoundingSet")
	slices.Sort(ambient)
	slices.Sort(bounding)
	if !slices.Equal(ambient, bounding) || len(ambient) == 0 {
		t.Fatalf("AmbientCapabilities %v and CapabilityBoundingSet %v, want them equal and not empty", ambient, bounding)
	}
	caps := "-all"
	for _, c := range ambient {
		caps += ",+" + strings.ToLower(strings.TrimPrefix(c, "CAP_"))
	}
	space := fmt.Sprintf("prywalk-test-%d", os.Getpid())
	if text, err := bounded.AllOutput(exec.Command("ip", "netns", "add", space)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	t.Cleanup(func() { _ = bounded.Run(exec.Command("ip", "netns", "delete", space)) })
	if text, err := bounded.AllOutput(exec.Command("ip", "-n", space, "link", "set", "lo", "up")); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	within := []string{"ip", "netns", "exec", space}
	c := newCollector(t, "")
	c.prefix = within
	c.start()
	l := startLoad(t)

	state, err := os.MkdirTemp("/var/tmp", "prywalk-state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	if err := os.Chown(state, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(state, "prywalk")
	if text, err := bounded.AllOutput(exec.Command("install", "-m", "0755", binary, exe)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	const script = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
for at in / /tmp /run /var /home; do
	mountpoint -q $at && mount -o remount,bind,ro $at
done
if touch /tmp/prywalk-writes 2>/dev/null; then echo "/tmp can be written to" >&2; exit 9; fi
user=$2 caps=$3; shift 3
exec setpriv --reuid=$user --regid=$user --clear-groups --no-new-privs --inh-caps=$caps --ambient-caps=$caps \
	--bounding-set=$caps "$@"`
	rec := filepath.Join(state, "local.pb.gz")
	args := slices.Concat(within, []string{"unshare", "--mount", "sh", "-c", script, "sh", state, "65534", caps,
		exe, "agent", "-p", fmt.Sprint(l.pid), "--endpoint", "http://" + c.grpc, "--spool", state + "/spool",
		"--window", "1s", "-F", "50", "--max-overhead", "50%", "--flush", patience.String(), "-o", rec})
	a := &agent{t: t, rec: rec, cmd: exec.Command(args[0], args[1:]...)}
	a.run("a window arrives", func() bool { return len(c.messages()) > 0 })
	before := l.cpu()
	l.compute()
	used := l.cpu() - before
	a.end()
	received := c.sums()
	compareSums(t, received, a.recorded())
	if cpu := ofClock(received, "cpu"); cpu < used {
		t.Errorf("%d ns of CPU time received, want at least the %d charged by the kernel", cpu, used)
	}
	if strings.Contains(a.stderr.String(), "cannot") {
		t.Errorf("the agent reports that it cannot do something: %s", a.stderr.String())
	}
}
