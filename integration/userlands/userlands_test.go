// SPDX-License-Identifier: Apache-2.0

package userlands

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const made = "PRYWALK_USERLANDS" // the directory that scripts/userlands/make.sh prints

// language is one whose program, in testdata, runs outer, inner and spin.
type language struct {
	name, version string   // the script that prints the release
	program       []string // with files of testdata by their names alone
	locks         []string // in dump --locks
}

var languages = []language{
	{"Python", "python3 --version", []string{"python3", "load.py"}, []string{"wait_for_lock", "outer", "\n  held by "}},
	{"Java", "java -version 2>&1", []string{"java", "-cp", ".", "Load"}, []string{"Load.waitForMonitor", "Load.hold"}},
	{"Node", "node --version", []string{"node", "load.js"}, nil},
	{"PHP", "php --version", []string{"php", "load.php"}, nil},
	{"Ruby", "ruby --version", []string{"ruby", "load.rb"}, nil},
}

// debians are the directories.
var debians = []struct{ suite, name string }{{"bullseye", "Debian 11"}, {"trixie", "Debian 13"}}

// withoutOwner have the words for releases in which an RLock stores no owner (docs/waiting.md).
var withoutOwner = map[string][]string{"Python 3.9": {"wait_for_lock", "stores no owner"}}

// tooOld are releases that docs/languages.md does not have: their functions have no names.
var tooOld = map[string]bool{"Node 12": true}

func TestProgramsOfOtherDebians(t *testing.T) {
	dir := os.Getenv(made)
	testtargets.Need(t, dir != "", "Debians of other releases", "make test-userlands")
	testtargets.NeedRoot(t, "change the root")
	binary := filepath.Join(t.TempDir(), "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	command(t, "javac", "--release", "11", "-d", classes, "../kernels/testdata/Load.java")
	for _, d := range debians {
		t.Run(d.suite, func(t *testing.T) {
			u := &userland{t, filepath.Join(dir, d.suite), binary}
			_, err := os.Stat(u.root)
			testtargets.Need(t, err == nil, d.name, "make test-userlands, where apt has its suite")
			u.put("testdata", "../kernels/testdata", classes)
			cells := []string{"glibc " + release(u.run("ldd --version"))}
			for _, l := range languages {
				cell := release(u.run(l.version))
				if words := withoutOwner[l.name+" "+cell]; words != nil {
					l.locks = words
				}
				t.Run(l.name, func(t *testing.T) { cell += u.samples(t, &l, tooOld[l.name+" "+major(cell)]) })
				cells = append(cells, cell)
			}
			if !t.Failed() {
				checkRow(t, "| "+d.name+" | "+strings.Join(cells, " | ")+" |\n")
			}
		})
	}
}

func command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := bounded.AllOutput(exec.Command(args[0], args[1:]...))
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

var number = regexp.MustCompile(`\d+\.\d+`)

// release is the first number with a point in a text.
func release(text string) string { return number.FindString(text) }

func major(release string) string {
	text, _, _ := strings.Cut(release, ".")
	return text
}

// userland is a directory that holds a system.
type userland struct {
	t            *testing.T
	root, binary string
}

const workDir = "/tmp/prywalk"

// put copies the files of directories into the userland's workDir.
func (u *userland) put(dirs ...string) {
	u.t.Helper()
	to := filepath.Join(u.root, workDir)
	u.t.Cleanup(func() { _ = os.RemoveAll(to) })
	if err := os.RemoveAll(to); err != nil {
		u.t.Fatal(err)
	}
	for _, dir := range dirs {
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			u.t.Fatal(err)
		}
	}
}

// inside is a command in the userland, which the process becomes.
func (u *userland) inside(args ...string) *exec.Cmd {
	const script = `mount -t proc proc "$0/proc"; root=$0; cd "$root` + workDir + `"; exec chroot "$root" ` +
		`sh -c 'cd ` + workDir + `; exec "$@"' sh "$@"`
	return exec.Command("unshare", slices.Concat([]string{"--mount", "sh", "-ec", script, u.root}, args)...)
}

func (u *userland) run(script string) string {
	u.t.Helper()
	return command(u.t, u.inside("sh", "-c", script).Args...)
}

// samples checks a program's functions, or that its stacks are whole if these have no names. It returns what differs.
func (u *userland) samples(t *testing.T, l *language, unnamed bool) (differs string) {
	cmd := u.inside(l.program...)
	testtargets.Ready(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	threads := dumpOf(t, u.binary, pid)
	named := slices.ContainsFunc(threads, func(thread stacks.Thread) bool {
		return slices.ContainsFunc(thread.Frames, func(f stacks.Frame) bool { return isNamed(f.Function, "outer") })
	})
	through, whole := 0, 0
	recorded(t, u.binary, pid, func(prof *profile.Profile) bool {
		through, whole = samplesThrough(prof, "outer"), wholeStacks(prof)
		return through > 0 || unnamed && whole > 0
	})
	if unnamed {
		if len(threads) == 0 || whole == 0 {
			t.Errorf("the dump has %d threads, the recording %d whole stacks", len(threads), whole)
		}
		if named || through > 0 {
			t.Error("functions have names: the release is none that is too old")
		}
		return ", no names"
	}
	if !named {
		t.Errorf("no thread of the dump is in outer: %+v", threads)
	}
	if l.locks != nil {
		text := command(t, u.binary, "dump", "--locks", "--max-pause", "off", "-p", pid)
		for _, word := range l.locks {
			if !strings.Contains(text, word) {
				t.Errorf("dump --locks has no %q:\n%s", word, text)
			}
		}
	}
	return ""
}

// dumpOf returns the threads, whose stacks must be complete.
func dumpOf(t *testing.T, binary, pid string) []stacks.Thread {
	t.Helper()
	cmd := exec.Command(binary, "dump", "--json", "--max-pause", "off", "-p", pid)
	text, err := bounded.Output(cmd)
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	var p stacks.Process
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	for _, thread := range p.Threads {
		if !thread.Complete {
			t.Errorf("thread %s: stop reason %s", thread.Name, thread.StopReason)
		}
	}
	return p.Threads
}

// recorded records, four times as long each time, until a recording has what is wanted.
func recorded(t *testing.T, binary, pid string, enough func(*profile.Profile) bool) {
	t.Helper()
	for seconds := 1; seconds <= 64; seconds *= 4 {
		file := filepath.Join(t.TempDir(), "p.pb.gz")
		command(t, binary, "record", "-q", "-F", "49", "-d", strconv.Itoa(seconds), "-o", file, "-p", pid)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prof, err := profile.ParseData(text)
		if err != nil {
			t.Fatal(err)
		}
		if enough(prof) {
			return
		}
	}
	t.Error("no recording has a sample of the busy thread")
}

func samplesThrough(prof *profile.Profile, function string) (n int) {
	for _, s := range prof.Sample {
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(line profile.Line) bool { return isNamed(line.Function.Name, function) })
		}) {
			n += int(s.Value[0])
		}
	}
	return n
}

func wholeStacks(prof *profile.Profile) (n int) {
	for _, s := range prof.Sample {
		lines := s.Location[len(s.Location)-1].Line
		if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1].Function.Name, "[") {
			n += int(s.Value[0])
		}
	}
	return n
}

// isNamed recognizes outer, Load.outer, Object#outer and the like.
func isNamed(name, function string) bool {
	return name == function || strings.HasSuffix(name, "."+function) || strings.HasSuffix(name, "#"+function)
}
