// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"
)

// rings are the recordings of a ring so far, the oldest first.
func rings(t *testing.T, dir string) (all []*pprof.Profile) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "r-*.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		if f, err := os.Open(name); err == nil { // else it was just removed
			p, err := pprof.Parse(f)
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}

func commentWith(p *pprof.Profile, text string) string {
	if i := slices.IndexFunc(p.Comments, func(c string) bool { return strings.Contains(c, text) }); i >= 0 {
		return p.Comments[i]
	}
	return ""
}

func TestARingIsWrittenAtSIGUSR1AndAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "-p", burner(t), "--ring", "1s", "--keep", "2", "-o", "r.pb.gz")
	awaitSamples(t, p)
	send(t, p, unix.SIGUSR1)
	var first, last int64
	testtargets.Eventually(t, "the ring has moved on", func() bool {
		all := rings(t, dir)
		if len(all) == 0 {
			return false
		}
		newest := all[len(all)-1]
		end := newest.TimeNanos + newest.DurationNanos
		if end == last {
			return false
		}
		if commentWith(newest, "written because SIGUSR1 came at ") == "" {
			t.Fatalf("comments %q", newest.Comments)
		}
		if last = end; first == 0 {
			first = end
		}
		send(t, p, unix.SIGUSR1)
		return newest.TimeNanos > first+int64(time.Second)
	})
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != errs.ExitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	all := rings(t, dir)
	if len(all) != 2 {
		t.Fatalf("%d recordings are left, want 2", len(all))
	}
	for _, p := range all {
		if p.DurationNanos > int64(time.Second) || len(p.Sample) == 0 {
			t.Errorf("%d samples of %v", len(p.Sample), time.Duration(p.DurationNanos))
		}
		for _, s := range p.Sample {
			if end := s.NumLabel["end_timestamp_ns"][0]; end-s.Value[1] < p.TimeNanos {
				t.Errorf("an interval begins %v before the recording", time.Duration(p.TimeNanos-end+s.Value[1]))
			}
		}
	}
	if commentWith(all[1], "written because the recording ended") == "" || commentWith(all[1], "prywalk: ") == "" {
		t.Errorf("comments of the last one: %q", all[1].Comments)
	}
}

func TestARingIsWrittenWhenAConditionBeginsToHold(t *testing.T) {
	t.Parallel()
	exe, err := testtargets.Compile("cycles.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "cycle", "12") // at each lock a member of the cycle and two more
	_, lines := testtargets.Talk(t, cmd)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "-p", strconv.Itoa(cmd.Process.Pid), "--ring", "30s", "-o", "r.pb.gz",
		"--on", "waiters>2", "--on", "waiters>3", "--on", "deadlock", "--on", "blocked>1s under ^member$")
	wants := []string{"waiters>2 began to hold at ", "deadlock began to hold at ",
		"blocked>1s under ^member$ began to hold at "}
	details := []string{": 3 threads of process ", "DEADLOCK: ", " has waited for "}
	testtargets.Eventually(t, "each condition is written", func() bool {
		all := rings(t, dir)
		return !slices.ContainsFunc(wants, func(want string) bool {
			return !slices.ContainsFunc(all, func(p *pprof.Profile) bool { return commentWith(p, want) != "" })
		})
	})
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != errs.ExitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	for _, p := range rings(t, dir) {
		for i, want := range wants {
			if line := commentWith(p, want); line != "" && !strings.Contains(line, details[i]) {
				t.Errorf("%q lacks %q", line, details[i])
			}
		}
		if line := commentWith(p, "waiters>3"); line != "" {
			t.Errorf("three threads are more than three: %q", line)
		}
	}
}

// What the report of a ring says above and below its tables: who waited, for what, who had it, why the ring was
// written, and where the waits end, in another process.
func TestAHangAtNightIsToldInFiveLines(t *testing.T) {
	t.Parallel()
	exe, err := testtargets.Compile("hang.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	in, lines := testtargets.Talk(t, cmd)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "-p", strconv.Itoa(cmd.Process.Pid), "--children", "--ring", "30s",
		"--on", "blocked>2s under ^list_orders$", "-o", "r.pb.gz", "--max-overhead", "off", "--max-pause", "off")
	awaitSamples(t, p)
	fmt.Fprintln(in, "hang")
	testtargets.Eventually(t, "the hang is written", func() bool { return len(rings(t, dir)) > 0 })
	files, _ := filepath.Glob(filepath.Join(dir, "r-*.pb.gz"))
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != errs.ExitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	r := start(t, dir, nil, "report", files[0])
	if code := r.code(t); code != errs.ExitOK {
		t.Fatalf("exit code %d: %s", code, r.err.String())
	}
	var told []string
	for i, line := range strings.Split(r.out.String(), "\n") {
		if i < 3 || strings.HasPrefix(line, "written because ") || strings.HasPrefix(line, "Almost no CPU time") {
			told = append(told, line)
		}
	}
	text := strings.ReplaceAll(strings.Join(told, "\n")+"\n", files[0], "FILE")
	for _, replaced := range [][2]string{{` \(\d+\.\d at a time\)`, ""},
		{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, "DATE"}, {`recorded DATE UTC.*`, "recorded DATE"},
		{`\d[\d.,]*( ?(ms|µs|s|Hz|samples)\b)?`, "N"}, {`N ?%`, "N"}} {
		text = regexp.MustCompile(replaced[0]).ReplaceAllString(text, replaced[1])
	}
	const want = "mostly waiting: N threads for mutex orders in list_orders, held by settle " +
		"(in read: socket of ledger, pid N)\n" +
		"hang, ledger (N processes) · N × N threads at N · recorded DATE\n" +
		"wall N (N with complete stacks) · cpu N · runqueue N · blocked N · N\n" +
		"written because blocked>N under ^list_orders$ began to hold at DATE, N after the begin: " +
		"thread N request of process N has waited for N; N of the blocked time of hang (pid N) ends in backup of " +
		"ledger (pid N), which sleeps (prywalk report --chains FILE)\n" +
		"Almost no CPU time, so these are the waits: prywalk report --by wait FILE shows all, --value cpu functions.\n"
	if text != want {
		t.Errorf("%s\nwant\n%s\nwhole:\n%s", text, want, r.out.String())
	}
}

const spikes = `package main

import (
	"fmt"
	"time"
)

//go:noinline
func spike(until time.Time) (n int) {
	for time.Now().Before(until) {
		n++
	}
	return n
}

func main() {
	for range time.Tick(3 * time.Second) {
		begin := time.Now()
		spike(begin.Add(300 * time.Millisecond))
		fmt.Println(begin.UnixNano(), time.Now().UnixNano())
	}
}
`

func TestASpikeIsFoundInARing(t *testing.T) {
	cmd := exec.Command(testtargets.BuildGoAs(t, spikes, "spikes"))
	_, lines := testtargets.Talk(t, cmd)
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "-p", strconv.Itoa(cmd.Process.Pid), "--ring", "10s", "-o", "r.pb.gz",
		"--max-overhead", "off", "--max-pause", "off")
	var begin, end int64
	for range 2 { // prywalk samples before the second one
		if _, err := fmt.Fscanln(lines, &begin, &end); err != nil {
			t.Fatal(err)
		}
	}
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != errs.ExitOK {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	all := rings(t, dir)
	const tick = int64(20 * time.Millisecond)
	in, out := int64(0), int64(0)
	for _, s := range all[len(all)-1].Sample {
		if !slices.ContainsFunc(s.Location, func(l *pprof.Location) bool {
			return len(l.Line) > 0 && l.Line[0].Function.Name == "main.spike"
		}) {
			continue
		}
		to := s.NumLabel["end_timestamp_ns"][0]
		if from := to - s.Value[1]; from > begin-tick && to < end+tick {
			in += s.Value[1]
		} else if to > begin-int64(time.Second) {
			out += s.Value[1]
		}
	}
	if in <= out {
		t.Errorf("main.spike has %v in the spike of %v, and %v after the one before", time.Duration(in),
			time.Duration(end-begin), time.Duration(out))
	}
}

func TestFlagsOfARing(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--on is for --ring":                {"--on", "deadlock"},
		"give at least 1s":                  {"--ring", "0.5"},
		"cannot be combined with --rotate":  {"--ring", "60s", "--rotate", "1h"},
		"--on waiter>1: give deadlock":      {"--ring", "60s", "--on", "waiter>1"},
		"--keep is for --rotate and --ring": {"--keep", "3"},
	} {
		p := start(t, t.TempDir(), nil, append([]string{"record", "-p", "1"}, args...)...)
		if code := p.code(t); code != errs.ExitUsage || !strings.Contains(p.err.String(), want) {
			t.Errorf("%v: exit code %d, %s; want %q", args, code, p.err.String(), want)
		}
	}
}

func TestARingIsWrittenWhenAThreadStalls(t *testing.T) {
	cmd := exec.Command("cat")
	in, lines := testtargets.Talk(t, cmd)
	echo := func() {
		fmt.Fprintln(in, "beat")
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "-p", strconv.Itoa(cmd.Process.Pid), "--ring", "30s", "-o", "r.pb.gz",
		"--on", "stalled>1s of ^cat$")
	awaitSamples(t, p)
	testtargets.Eventually(t, "the recording is long enough", func() bool {
		send(t, p, unix.SIGUSR1)
		all := rings(t, dir)
		for _, p := range all {
			if strings.Contains(strings.Join(p.Comments, ""), "stalled") {
				t.Fatalf("a thread that never ran is stalled: %q", p.Comments)
			}
		}
		return len(all) > 0 && all[len(all)-1].DurationNanos > int64(2*time.Second)
	})
	echo()
	testtargets.Eventually(t, "the stall is written", func() bool {
		return slices.ContainsFunc(rings(t, dir), func(p *pprof.Profile) bool {
			text := commentWith(p, "stalled>1s of ^cat$ began to hold at ")
			return strings.Contains(text, " cat of process ") && strings.Contains(text, "has not run for ") &&
				strings.Contains(text, ": it waits for pipe:")
		})
	})
	send(t, p, unix.SIGINT)
	if code := p.code(t); code != errs.ExitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}
