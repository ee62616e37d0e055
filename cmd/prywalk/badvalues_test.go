// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/base/exit"
	"prywalk/internal/command/commandline"
	"prywalk/internal/testtargets/bounded"
)

var leaks = []string{"strconv.", "ParseInt", "ParseFloat", "ParseBool", "time:", "error parsing regexp",
	"invalid syntax", "invalid argument", "json: ", "pflag", "%!", "<nil>", "goroutine "}

func leaked(text string) string {
	text = strings.ReplaceAll(text, "--json: ", "")
	for _, word := range leaks {
		if strings.Contains(text, word) {
			return word
		}
	}
	return ""
}

func TestBadValuesOfFlagsAreReportedInPlainWords(t *testing.T) {
	t.Parallel()
	refused := 0
	for _, cmd := range newRoot().Commands() {
		var flags []*pflag.Flag
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
		for _, f := range flags {
			for _, value := range []string{"", "x", "-1", "1.5x", "99999999999999999999", "1e999", "NaN", "%", "1,,2", "soon",
				"0x", "(", "\x1b[31m"} {
				err := fresh(t, cmd.Name()).ParseFlags([]string{"--" + f.Name + "=" + value})
				if err == nil {
					continue
				}
				refused++
				reported := commandline.WrongFlag(cmd, err)
				text := reported.Error()
				if word := leaked(text); word != "" || !strings.Contains(text, "--"+f.Name) ||
					exitCode(reported) != exit.WrongUsage ||
					!strings.Contains(text, "; see prywalk "+cmd.Name()+" --help") {
					t.Errorf("%s --%s=%q: word of a Go library %q, or no flag's name, hint or exit code 2 in: %s", cmd.Name(), f.Name,
						value, word, text)
				}
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d values were refused, want at least 100", refused)
	}
}

func TestWrongArgumentsAreRefusedBeforeTheWork(t *testing.T) {
	t.Parallel()
	none, file, pid := filepath.Join(t.TempDir(), "none", "x"), recorded(t, "file", 100, 50), strconv.Itoa(os.Getpid())
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exit.WrongUsage, "--output has an empty value; leave it out, or give one", []string{"record", "-p", "1", "-o", ""}},
		{exit.WrongUsage, "--name has an empty value; leave it out, or give one", []string{"dump", "-n", ""}},
		{exit.WrongUsage, `--pid: "-d" is not a process number; see`, []string{"record", "-p", "-d", "0.3", "-o", "x"}},
		{exit.WrongUsage, `--pid: "4294967297" is not a process number`, []string{"dump", "-p", "4294967297"}},
		{exit.WrongUsage, `no process has the name or the number "4294967297"`, []string{"dump", "4294967297"}},
		{exit.WrongUsage, "-p 4294967297: give a process number", []string{"doctor", "-p", "4294967297"}},
		{exit.WrongUsage, `--match "(" is not a regular expression: missing closing )`, []string{"record", "--match", "("}},
		{exit.WrongUsage, "--endpoint ftp://x: give a URL", []string{"agent", "-p", pid, "--endpoint", "ftp://x"}},
		{exit.WrongUsage, "--protocol x: give grpc or http", []string{"agent", "-p", pid, "--protocol", "x"}},
		{exit.WrongUsage, "--max-message: give from", []string{"agent", "-p", pid, "--max-message", "1"}},
		{exit.WrongUsage, "begins with https://; leave", []string{"agent", "-p", pid, "--ca", none}},
		{exit.WrongUsage, "--cert and --key", []string{"agent", "-p", pid, "--cert", none, "--endpoint", "https://x"}},
		{exit.Failed, "--ca: open", []string{"agent", "-p", pid, "--ca", none, "--endpoint", "https://x"}},
		{exit.Failed, "in use; give a free address of this host", []string{"agent", "-p", pid, "--metrics", taken}},
		{exit.WrongUsage, "the recording is empty; leave it out for prywalk.pb.gz", []string{"report", ""}},
		{exit.Failed, "not a directory; make a recording with", []string{"report", file + "/x"}},
		{exit.WrongUsage, "; give the one that the source", []string{"report", file, "--source", "x", "--source-dir", none}},
		{exit.WrongUsage, "; give the one that holds usr and lib", []string{"dump", "--core", file, "--sysroot", none}},
		{exit.Failed, "; give another place with -o", []string{"demo", "-o", none}},
		{exit.WrongUsage, "-o and --stats", []string{"record", "-d", "1", "-p", pid, "-o", "r", "--stats", "r"}},
		{exit.WrongUsage, "-o and --stats", []string{"record", "-d", "1", "-p", pid, "-o", "-", "--stats", "/dev/stdout"}},
		{exit.WrongUsage, "--html and -o", []string{"record", "-d", "1", "-p", pid, "-o", "r", "--html", "r"}},
		{exit.WrongUsage, "a file with -o", []string{"record", "-d", "1", "-p", pid, "-o", "-", "--html", "r"}},
		{exit.WrongUsage, "--html is for one recording",
			[]string{"record", "-d", "1", "-p", pid, "--rotate", "1h", "--html", "r"}},
		{exit.WrongUsage, "cannot be used with a command", []string{"record", "-o", "/dev/stdout", "--", "true"}},
		{exit.WrongUsage, "; give the directory of the recordings", []string{"mcp", "--dir", none}},
	} {
		p := start(t, t.TempDir(), nil, c.args...)
		if code := p.code(t); code != c.code || !strings.Contains(p.err.String(), c.want) || p.out.String() != "" ||
			strings.Count(p.err.String(), "\n") != 1 {
			t.Errorf("%q: exit code %d, want %d and one line with %q: %s%s", c.args, code, c.code, c.want, &p.err, &p.out)
		}
	}
}

func TestAFileThatCannotBeWrittenIsNamedWithItsFlag(t *testing.T) {
	t.Parallel()
	file, dir, pid := recorded(t, "file", 100, 50), t.TempDir(), burner(t)
	for flag, args := range map[string][]string{
		"--stats":     {"record", "-d", "0.2", "-p", pid, "-o", "r.pb.gz"},
		"--event-log": {"record", "-d", "0.2", "-p", pid},
		"--html":      {"report", file}, "--speedscope": {"report", file}, "--firefox": {"report", file},
		"--otlp": {"report", file},
	} {
		p := start(t, dir, nil, append(args, flag, "/dev/full")...)
		code, text := p.code(t), p.err.String()
		if code != exit.Failed || !strings.Contains(text, flag+": cannot write /dev/full: ") ||
			!strings.Contains(text, "free some space, or choose another place") {
			t.Errorf("%s: exit code %d: %s", flag, code, text)
		}
		if flag == "--stats" && !strings.Contains(text, "; the whole recording is in r.pb.gz") {
			t.Errorf("--stats: where the recording is is missing: %s", text)
		}
	}
}

func TestDemoTakesADirectoryWithAPercentSign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a%pb"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, "demo", "-d", "0.3", "-o", "a%pb")
	if code := p.code(t); code != exit.OK {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
	for _, name := range []string{"prywalk-demo.pb.gz", "prywalk-demo.html"} {
		if _, err := os.Stat(filepath.Join(dir, "a%pb", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestAFailureBeforeACommandStartsHasExitCode125(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"ulimit -n 20", "ulimit -v 1800000"} {
		for args, want := range map[string]int{
			"record -- true": exit.InternalFailure, "record true": exit.InternalFailure,
			"record -q -d 1 sleep 1":              exit.InternalFailure,
			"record " + strconv.Itoa(os.Getpid()): exit.Failed, "record " + filepath.Base(self): exit.Failed,
			"record -p 1": exit.Failed, "dump true": exit.Failed,
		} {
			cmd := exec.Command("sh", "-c", limit+` && exec "$@"`, "sh", self)
			cmd.Args = append(cmd.Args, strings.Fields(args)...)
			cmd.Env = append(os.Environ(), asCommand+"=1")
			text, _ := bounded.AllOutput(cmd)
			if code := cmd.ProcessState.ExitCode(); code != want || !strings.Contains(string(text), "ulimit") {
				t.Errorf("%s; prywalk %s: exit code %d, want %d: %s", limit, args, code, want, text)
			}
		}
	}
}

func TestOutputThatIsLostIsAnError(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	commands := []string{"version", "--version", "schema", "schema dump", "help", "--help", "help names",
		"completion bash", "completion", "top --once --window 0.5 -p " + burner(t), "demo -d 0.2 -o ."}
	for _, cmd := range newRoot().Commands() {
		if !cmd.Hidden {
			commands = append(commands, cmd.Name()+" --help")
		}
	}
	for _, command := range commands {
		args := strings.Fields(command)
		for stdout, want := range map[*os.File]struct {
			code int
			text string
		}{
			full: {exit.Failed, "no space left on device; free some space"},
		} {
			p := startWith(t, stdout, args...)
			if code := p.code(t); code != want.code || strings.Count(p.err.String(), want.text) != 1 ||
				strings.Count(p.err.String(), "standard output") != 1 {
				t.Errorf("%q to %s: exit code %d, want %+v: %s", args, stdout.Name(), code, want, &p.err)
			}
		}
	}
}

func fresh(t *testing.T, name string) *cobra.Command {
	t.Helper()
	cmd, _, err := newRoot().Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestBadTextsAreReportedInPlainWords(t *testing.T) {
	t.Parallel()
	file := recorded(t, "file", 100, 50)
	noFile := filepath.Join(t.TempDir(), "none")
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"report --focus ( FILE", "report --ignore ( FILE", "report --thread ( FILE", "report --process ( FILE",
		"report --state ( FILE", "report --wait ( FILE", "report --callers ( FILE", "report --callees ( FILE",
		"report --source ( FILE", "report --by x FILE", "report --value x FILE", "report --sort x FILE",
		"report --to 0 FILE", "report --from 3 --to 2 FILE", "report NONE", "report GARBAGE",
		"report --html /no/such/place FILE", "report --pgo= FILE",
		"diff --per x FILE FILE", "diff --focus ( FILE FILE", "diff --value x FILE FILE", "diff FILE", "diff -a FILE",
		"diff -a FILE -b FILE FILE", "diff -a FILE,FILE -b NONE", "diff -a , -b FILE", "diff FILE NONE", "diff FILE GARBAGE",
		"record --threads ( -p 1", "record --engine x -p 1", "record --max-depth 0 -p 1",
		"record --subset 0 -p 1", "record --all -p 1", "record --stats /no/such/place -p 1", "record -p 1 -n x",
		"top --threads ( -p 1", "top --value x -p 1", "top --rows 0 -p 1", "diff -n 0 FILE FILE",
		"top --interval 1us -p 1", "top --engine x -p 1",
		"dump --max-depth -1 -p 1", "dump --core NONE", "dump --core GARBAGE", "dump --merge --json -p 1", "dump -p 1 1",
		"completion sh", "doctor -p 1 1", "doctor -p 0", "demo -d 0",
		"agent -p 1 --spool-size 1",
	} {
		words := strings.Fields(strings.NewReplacer("FILE", file, "NONE", noFile, "GARBAGE", garbage).Replace(args))
		p := start(t, t.TempDir(), nil, words...)
		code, text := p.code(t), p.err.String()
		if code == 0 || leaked(text) != "" || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: exit code %d, word of a Go library %q; want an error of one line without it: %s", args, code,
				leaked(text), text)
		}
	}
}

func TestCommandsAndPIDsWithoutFlagsAreRecognized(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"record --durration 3":     "unknown flag: --durration; see prywalk record --help",
		"dump -p 1 2":              `dump takes no argument "2"`,
		"dump --core FILE -p 1":    "give either --core FILE or what selects processes",
		"dump --core FILE -n sh":   "give either --core FILE or what selects processes",
		"dump --core FILE --all":   "give either --core FILE or what selects processes",
		"dump --core FILE -a":      "give either --core FILE or what selects processes",
		"dump --unit x --core F":   "give either --core FILE or what selects processes",
		"dump --core F --match x":  "give either --core FILE or what selects processes",
		"dump --locks -a --core F": "give either --core FILE or what selects processes",
		"dump nobody.here":         `no process has the name or the number "nobody.here"; see prywalk dump --help`,
		"record --engine x -p 1":   `--engine "x": choose auto, ptrace or perf`,
		"record --max-overhead 0":  `"0" is not a share: give a percentage`,
		"record -d 10mins -F many": `"many" is not a frequency`,
	} {
		p := start(t, t.TempDir(), nil, strings.Fields(args)...)
		if code := p.code(t); code != exit.WrongUsage || !strings.Contains(p.err.String(), want) {
			t.Errorf("%s: exit code %d, want %d and %q: %s", args, code, exit.WrongUsage, want, &p.err)
		}
	}
	pid := burner(t)
	for _, command := range []string{"dump", "doctor", "top --once --window 0.2"} {
		p := start(t, t.TempDir(), nil, append(strings.Fields(command), pid)...)
		if code := p.code(t); code != 0 || !strings.Contains(p.err.String(), "used as with -p "+pid) {
			t.Errorf("%s %s: exit code %d, want 0 and \"used as with -p\": %s", command, pid, code, &p.err)
		}
	}
	p := start(t, t.TempDir(), nil, "record", "-d", "1", "--max-overhead", "50", pid)
	if code := p.code(t); code != 0 || !strings.Contains(p.err.String(), "used as with -p "+pid) {
		t.Errorf("record %s: exit code %d, want 0 and \"used as with -p\": %s", pid, code, &p.err)
	}
	p = start(t, t.TempDir(), nil, "record", "-q", "-d", "1", pid)
	if code := p.code(t); code != 0 || p.err.String() != "" {
		t.Errorf("record -q: exit code %d, want 0 and no message: %s", code, &p.err)
	}
	p = start(t, t.TempDir(), nil, "record", "-q", "-p", "x")
	if code := p.code(t); code != exit.WrongUsage || p.err.String() == "" {
		t.Errorf("record -q -p x: exit code %d, want 2 and a message: %s", code, &p.err)
	}
}

func TestChildrenThatAreNotRecordedAreReported(t *testing.T) {
	t.Parallel()
	child := burner(t)
	stat, err := os.ReadFile("/proc/" + child + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	parent := strings.Fields(rest)[1]
	p := start(t, t.TempDir(), nil, "record", "-d", "3", "-p", parent)
	if code := p.code(t); code != 0 || !strings.Contains(p.err.String(), "1 child process used ") ||
		!strings.Contains(p.err.String(), "not in the recording; --children includes them, also those already running") {
		t.Errorf("exit code %d, want 0 and a word about the child not recorded: %s", code, &p.err)
	}
	dir := t.TempDir()
	p = start(t, dir, nil, "record", "-d", "3", "--children", "-p", parent)
	if code := p.code(t); code != 0 || strings.Contains(p.err.String(), "child process") {
		t.Errorf("--children: exit code %d, want 0 and no word about children: %s", code, &p.err)
	}
	q := start(t, dir, nil, "report", "--by", "command")
	if code := q.code(t); code != 0 || !strings.Contains(q.out.String(), "  sh  ") {
		t.Errorf("a child started before the recording is missing: exit code %d, %s", code, &q.out)
	}
}

func TestAllProcessesOfANameAreRecorded(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("all%d", os.Getpid())
	one, other := running(t, asName(t, name)), running(t, asName(t, name))
	dir := t.TempDir()
	if p := start(t, dir, nil, "record", "-d", "0.3", "-n", name, "--all"); p.code(t) != 0 {
		t.Fatalf("record --all: %s", &p.err)
	}
	p := start(t, dir, nil, "report", "--by", "process", "--value", "samples")
	code := p.code(t)
	for _, pid := range []int{one, other} {
		if code != 0 || !strings.Contains(p.out.String(), fmt.Sprintf("(pid %d)", pid)) {
			t.Errorf("process %d is missing: exit code %d, %s", pid, code, &p.out)
		}
	}
}
