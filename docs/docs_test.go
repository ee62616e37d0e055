// SPDX-License-Identifier: Apache-2.0

// Package docs_test keeps the pages true. It runs their commands on a live process, and checks their statements on
// messages, tests and links.
package docs_test

import (
	"context"
	"errors"
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
	"unicode"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func pages(t *testing.T) []string {
	t.Helper()
	return append([]string{"README.md", "SECURITY.md", "CONTRIBUTING.md"}, in(t, "docs")...)
}

func linked(t *testing.T) []string {
	t.Helper()
	return append(pages(t), in(t, "benchmarks/results")...)
}

func in(t *testing.T, dir string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", dir, "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages in %s (%v)", dir, err)
	}
	for _, page := range found {
		all = append(all, filepath.ToSlash(filepath.Join(dir, filepath.Base(page))))
	}
	return all
}

// notRun has the commands that this test does not execute, with the reason. Each must be in a page.
var notRun = map[string]string{
	"make demo":                     "builds and runs prywalk demo; the integration tests run it",
	"make test":                     "runs this test",
	"prywalk dump --core core.4711": "needs a core file; the tests of package dump make some",
	"make bench-quick":              "takes 50 s; the tests of benchmarks/bench run its parts",
	"prywalk record --unit nginx -d 10s": "needs a unit of systemd; " +
		"TestRulesSelectProcesses of package selection has cgroups of one",
	"prywalk record -p 4711,4712 -d 10s":        "needs two processes; the tests of package dump have chains of several",
	"prywalk dump -p 4711,4712 --chains":        "needs two processes; the tests of package dump have chains of several",
	"prywalk record -o build.pb.gz -- make -j4": "needs a Makefile; the integration tests record commands",
	"prywalk record -n server --ring 60s --on deadlock --on 'waiters>10' --on 'blocked>2s under sell' -o ring.pb.gz": "" +
		"records without end; the tests of cmd/prywalk write rings",
	"prywalk record -n server --rotate 1h --keep 24": "records without end; " +
		"the integration tests of package agent rotate recordings",
}

const (
	examplePID = "4711"
	exampleTID = "4712"
	oneCommand = 5 * time.Minute

	// Recordings last until the process has used so much CPU time.
	shownDuration   = "-d 10s"
	leastComputed   = 500 * time.Millisecond
	longestDuration = 64 // seconds
)

// command is a line "$ …" of a console block with the output below it.
type command struct {
	page   string
	line   int
	text   string
	output []string
}

func consoleCommands(t *testing.T, page string) []command {
	t.Helper()
	var all []command
	inside := false
	for i, line := range strings.Split(read(t, page), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			text, _, _ := strings.Cut(line[2:], "  # ")
			all = append(all, command{page: page, line: i + 1, text: strings.TrimSpace(text)})
		case len(all) > 0:
			all[len(all)-1].output = append(all[len(all)-1].output, line)
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type shell struct {
	bin, dir string
	pid, tid string
	seconds  int
	target   *testtargets.Target
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{bin: t.TempDir(), dir: t.TempDir()}
	if err := testtargets.BuildPrywalk(filepath.Join(s.bin, "prywalk")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.dir, os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	target := testtargets.Run(t, "redis", testtargets.Options{})
	s.target, s.pid = target, strconv.Itoa(target.PID)
	tasks, err := os.ReadDir("/proc/" + s.pid + "/task")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("threads of %s: %d, %v", s.pid, len(tasks), err)
	}
	for _, task := range tasks {
		if task.Name() != s.pid {
			s.tid = task.Name()
		}
	}
	return s
}

// live replaces the example's process by the live one, and shortens recordings. All processes become those of that
// name: other tests trace some at the same time.
func (s *shell) live(text string) string {
	duration := "-d " + strconv.Itoa(max(s.seconds, 1))
	return strings.NewReplacer(examplePID, s.pid, exampleTID, s.tid, shownDuration, duration, "prywalk demo",
		"prywalk demo -d 1s", "prywalk top -a", "prywalk top -a --match redis",
		"prywalk record -a", "prywalk record -a --match redis").
		Replace(text)
}

// try repeats a recording for longer if the process got too little of a busy machine.
func (s *shell) try(t *testing.T, text string) (out string, code int) {
	t.Helper()
	for s.seconds = 1; ; s.seconds *= 4 {
		out, code = s.run(t, text)
		if code != 0 || !strings.Contains(text, shownDuration) || s.seconds >= longestDuration ||
			s.computed(t) >= leastComputed {
			return out, code
		}
	}
}

func (s *shell) computed(t *testing.T) time.Duration {
	t.Helper()
	f, err := os.Open(filepath.Join(s.dir, "prywalk.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, sample := range p.Sample {
		sum += sample.Value[len(sample.Value)-1]
	}
	return time.Duration(sum)
}

func (s *shell) run(t *testing.T, text string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), oneCommand)
	defer cancel()
	live := s.live(text)
	// The load takes both processors: it stops while a command reads files only.
	s.target.Load(strings.Contains(live, s.pid) || strings.Contains(live, "redis"))
	cmd := exec.CommandContext(ctx, "sh", "-c", live)
	cmd.Dir = s.dir
	cmd.WaitDelay = time.Minute
	cmd.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "NO_COLOR=1")
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", text, err, b)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

func TestDocumentedCommandsRun(t *testing.T) {
	s := newShell(t)
	seen, printed := map[string]bool{}, map[string]string{}
	for _, page := range pages(t) {
		for _, c := range consoleCommands(t, page) {
			if _, skip := notRun[c.text]; skip {
				seen[c.text] = true
				checkMake(t, c)
				continue
			}
			out, code := printed[c.text], 0
			if out == "" || strings.HasPrefix(c.text, "prywalk report") { // it depends on the last recording
				out, code = s.try(t, c.text)
			}
			if code != 0 {
				t.Errorf("%s:%d: %s: exit code %d\n%s", c.page, c.line, c.text, code, out)
				continue
			}
			printed[c.text] = out
			if problem := compare(c.output, out); problem != "" {
				t.Errorf("%s:%d: %s: %s; it printed\n%s", c.page, c.line, c.text, problem, out)
			}
		}
	}
	for text := range notRun {
		if !seen[text] {
			t.Errorf("no page shows %q any more", text)
		}
	}
}

func checkMake(t *testing.T, c command) {
	t.Helper()
	target, ok := strings.CutPrefix(c.text, "make ")
	if ok && !strings.Contains(read(t, "Makefile"), "\n"+target+":") {
		t.Errorf("%s:%d: the Makefile has no target %s", c.page, c.line, target)
	}
}

// compare returns what a command's output lacks. A line without a digit must be there as it is; the first word of any
// other line must begin a line.
func compare(shown []string, out string) string {
	lines, first := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		lines[strings.Join(words, " ")] = true
		if len(words) > 0 {
			first[words[0]] = true
		}
	}
	for _, line := range shown {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || isFigure(words[0]) || words[0] == "…" || words[0] == "[incomplete:":
		case !hasDigit(line) && !lines[strings.Join(words, " ")]:
			return fmt.Sprintf("no line %q", line)
		case slices.Contains(conclusions, words[0]) &&
			slices.ContainsFunc(conclusions, func(word string) bool { return first[word] }):
		case !first[words[0]] && !strings.Contains(line, "(inlined)"):
			return fmt.Sprintf("no line begins with %q", words[0])
		}
	}
	return ""
}

// conclusions are the first words of a report's first line: on a busy host threads mostly wait for a CPU.
var conclusions = []string{"mostly", "busy:", "waiting"}

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

func isFigure(word string) bool { return unicode.IsDigit(rune(word[0])) }

func TestCompareFindsWhatIsMissing(t *testing.T) {
	out := "name (pid 7) · 1s\n  self%  total%  function\n 10 %  f\n"
	for _, c := range []struct {
		line string
		ok   bool
	}{
		{"name (pid 4711) · 9s", true}, {"other (pid 4711) · 9s", false}, {"self%   total% function", true},
		{"self% function", false}, {"99 %  g", true}, {"", true},
	} {
		if got := compare([]string{c.line}, out) == ""; got != c.ok {
			t.Errorf("%q: %v", c.line, got)
		}
	}
}

var definition = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z]\w*)\(`)

var mention = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`")

func TestDocumentedTestNamesExist(t *testing.T) {
	known := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
			known[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range linked(t) {
		for _, m := range mention.FindAllStringSubmatch(read(t, page), -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
}

var claim = regexp.MustCompile(`(?i)\b(never|only|at most|nothing|none|no other)\b`)

var sentenceEnd = regexp.MustCompile("\\.\\s+(?:[A-Z*`]|$)")

// testOfClaim is a row at the end of a page: words of a claim, and its tests.
var testOfClaim = regexp.MustCompile("(?m)^\\| (.+) \\| `Test[A-Z]\\w*`(?:, `Test[A-Z]\\w*`)* \\|$")

func TestClaimsNameTheirTests(t *testing.T) {
	for page, least := range map[string]int{"SECURITY.md": 15, "docs/agent.md": 5} {
		text, table, _ := strings.Cut(read(t, page), "\n## The test of each claim\n")
		rows := testOfClaim.FindAllStringSubmatch(table, -1)
		for _, row := range rows {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), row[1]) {
				t.Errorf("%s: no sentence has the words of the claim: %s", page, row[1])
			}
		}
		if claims := claimsWithTests(t, page, text, rows); claims < least {
			t.Errorf("%s: %d claims", page, claims)
		}
	}
}

func claimsWithTests(t *testing.T, page, text string, rows [][]string) (claims int) {
	for _, item := range regexp.MustCompile(`\n(?:- |\n)`).Split(text, -1) {
		if strings.HasPrefix(item, "|") {
			continue
		}
		for _, sentence := range sentenceEnd.Split(item, -1) {
			if !claim.MatchString(sentence) {
				continue
			}
			claims++
			words := strings.Join(strings.Fields(sentence), " ")
			if !slices.ContainsFunc(rows, func(row []string) bool { return strings.Contains(words, row[1]) }) {
				t.Errorf("%s: no row of the table has words of: %s", page, sentence)
			}
		}
	}
	return claims
}

func TestTheNetworkIsUsedByTheAgentOnly(t *testing.T) {
	for _, dir := range []string{"cmd", "report", "internal", "ptrace", "frames", "heuristics", "dwarfunwind"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, e os.DirEntry, err error) error {
			testing := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testtargets")
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || testing ||
				strings.Contains(path, filepath.Join("internal", "command", "agent")) ||
				strings.Contains(path, "testdata") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, p := range []string{`"net"`, `"net/http"`, "unix.Connect(", "unix.Socket("} {
				for line := range strings.Lines(string(text)) {
					call := strings.HasPrefix(p, "unix") && strings.Contains(line, p) &&
						!strings.Contains(line, "unix.AF_NETLINK") // to the kernel: sock_diag(7)
					if strings.TrimSpace(line) == p || call {
						t.Errorf("%s: %s", path, line)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

func TestLinksResolve(t *testing.T) {
	for _, page := range linked(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			to := page
			if m[1] != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), m[1]))
			}
			to = filepath.Join("..", to)
			if s, err := os.Stat(to); err == nil && s.IsDir() && m[2] == "" {
				continue
			}
			text, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if m[2] != "" && !hasAnchor(string(text), m[2]) {
				t.Errorf("%s: %s has no heading #%s", page, to, m[2])
			}
		}
	}
}

func hasAnchor(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		if name == anchor {
			return true
		}
	}
	return false
}
