// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"prywalk/internal/testtargets"
)

func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text := prywalk(t, "schema", name).must(t, 0).stdout
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(name+".json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func checkDocument(t *testing.T, s *jsonschema.Schema, text string) map[string]any {
	t.Helper()
	if begin := strings.Join(strings.Fields(text[:min(len(text), 40)]), ""); !strings.HasPrefix(begin,
		`{"schema_version":2,`) {
		t.Errorf("the document begins with %s, want schema_version 2 first", begin)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("the schema refuses the document: %v\n%s", err, clip(text))
	}
	object := doc.(map[string]any)
	for _, field := range s.Required {
		had := object[field]
		delete(object, field)
		if s.Validate(doc) == nil {
			t.Errorf("the schema accepts the document without its required %s", field)
		}
		object[field] = had
	}
	object["new_field"] = true
	if s.Validate(doc) == nil {
		t.Error("the schema accepts an unknown field")
	}
	delete(object, "new_field")
	return object
}

func TestRealOutputSatisfiesTheSchemas(t *testing.T) {
	t.Parallel()
	native, python := testtargets.Run(t, "c", testtargets.Options{}), testtargets.Run(t, "python",
		testtargets.Options{})
	goes := testtargets.Run(t, "go", testtargets.Options{})
	dir := scratch(t, nil)
	file := func(name string) string { return filepath.Join(dir, name) }
	pids := pidList([]int{native.PID, python.PID, goes.PID})
	cycle := cycleOf(t, "cycle")
	for i, recorded := range [][]string{
		{"--engine", "ptrace"}, {"--engine", "auto", "--subset", "3", "--max-pause", "5ms", "--max-overhead", "20%"},
		{"--read-only", "--aggregate"},
	} {
		name := strconv.Itoa(i)
		args := append([]string{"record", "-p", pids, "-d", "1", "-o", file(name + ".pb.gz"), "--stats", file(name)},
			recorded...)
		eventually(t, "a recording has a lock's owner, whose thread had a CPU", func() bool {
			prywalk(t, args...).must(t, 0)
			return i > 0 || prywalk(t, "report", "--blame", file(name+".pb.gz")).code == 0
		})
		text, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		checkDocument(t, schemaOf(t, "stats"), string(text))
	}
	core := testtargets.Core(t, native.PID)
	for _, c := range []struct {
		schema string
		code   int
		args   []string
	}{
		{"report", 0, []string{"report", "--json", file("0.pb.gz")}},
		{"report", 0, []string{"report", "--json", "-n", "2", "--by", "wait", "--ci", file("1.pb.gz")}},
		{"report", 0, []string{"report", "--json", "--tree", "--lines", "--by", "thread", file("1.pb.gz")}},
		{"report", 0, []string{"report", "--json", "--blame", file("0.pb.gz")}},
		{"report", 0, []string{"report", "--json", "--value", "blocked", "--native", file("2.pb.gz")}},
		{"diff", 0, []string{"diff", "--json", file("0.pb.gz"), file("1.pb.gz")}},
		{"diff", 0, []string{"diff", "--json", "--per", "share", "--lines", "-n", "3", file("0.pb.gz"), file("1.pb.gz")}},
		{"dump", 0, []string{"dump", "--json", "-p", pids}},
		{"dump", 0, []string{"dump", "--json", "--atomic", "--native", "--max-depth", "3", "-p", pids}},
		{"dump", 0, []string{"dump", "--json", "--read-only", "-p", pids}},
		{"dump", 0, []string{"dump", "--json", "--core", core}},
		{"locks", 0, []string{"dump", "--locks", "--json", "-p", pids}},
		{"locks", 5, []string{"dump", "--locks", "--json", "-p", cycle}},
		{"locks", 0, []string{"dump", "--locks", "--json", "--core", core}},
		{"top", 0, []string{"top", "--json", "-p", pids, "-d", "1", "--interval", "0.4"}},
		{"top", 0, []string{"top", "--json", "--once", "--window", "0.5", "--rows", "2", "-p", pids}},
		{"doctor", 0, []string{"doctor", "--json"}},
		{"doctor", 0, []string{"doctor", "--json", "-p", strconv.Itoa(native.PID)}},
	} {
		t.Run(strings.Join(c.args[:2], " ")+" "+c.schema, func(t *testing.T) {
			r := command{args: c.args, dir: dir}.run(t)
			if r.code != c.code {
				t.Errorf("%v: exit code %d: %s", c.args, r.code, r.stderr)
			}
			s := schemaOf(t, c.schema)
			if c.schema == "doctor" {
				checkDocument(t, s, r.stdout)
				return
			}
			for line := range strings.Lines(r.stdout) {
				checkDocument(t, s, line)
			}
			if c.code != 0 {
				checkDocument(t, schemaOf(t, "error"), r.stderr)
			}
		})
	}
}

func cycleOf(t *testing.T, how string) (pid string) {
	t.Helper()
	exe, err := testtargets.Compile("cycles.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, how)
	_, out := testtargets.Talk(t, cmd)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid = strconv.Itoa(cmd.Process.Pid)
	eventually(t, "a deadlock", func() bool { return prywalk(t, "dump", "--locks", "-p", pid).code == 5 })
	return pid
}

func TestDumpHasTimeHostAndRunCounts(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(prywalk(t, "version").stdout, "prywalk "), " (go")
	kill(t, target.PID, 19) // SIGSTOP: no thread runs between the dumps
	eventually(t, "the target is stopped", func() bool { return stateOf(target.PID) == "T" })
	var counts [2]map[any]any
	for i := range counts {
		text := prywalk(t, "dump", "--json", "-p", strconv.Itoa(target.PID)).must(t, 0).stdout
		d := checkDocument(t, schemaOf(t, "dump"), text)
		if d["host"] != host || d["prywalk"] != version || d["time"] == nil {
			t.Errorf("host %v, prywalk %v, time %v; want %s, %s and a time", d["host"], d["prywalk"], d["time"], host,
				version)
		}
		counts[i] = map[any]any{}
		for _, th := range d["threads"].([]any) {
			th := th.(map[string]any)
			counts[i][th["tid"]] = th["run_count"]
		}
	}
	sched, err := os.ReadFile("/proc/" + strconv.Itoa(target.PID) + "/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	want, err := strconv.ParseInt(strings.Fields(string(sched))[2], 10, 64)
	if got, ok := counts[1][json.Number(strconv.Itoa(target.PID))].(json.Number); !ok || err != nil ||
		!atMost(got, want) || len(counts[0]) != len(counts[1]) {
		t.Errorf("run_count is %v, want at most %d, as in schedstat (%v)", got, want, err)
	}
	kill(t, target.PID, 18)
}

func atMost(n json.Number, limit int64) bool {
	v, err := n.Int64()
	return err == nil && v > 0 && v <= limit
}

func TestErrorsAreObjectsWithJSON(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "error")
	for _, c := range []struct {
		args          string
		code          string
		cause, remedy string
	}{
		{"dump --json -p 999999999", "1", "process 999999999: no such process", "check the number with ps or pgrep"},
		{"report --json none.pb.gz", "1", "open none.pb.gz: no such file or directory",
			"make a recording with prywalk record, or name its file"},
		{"report --json --by color", "2", `--by "color"`,
			"choose thread, process, command, role, state, wait, lock, module, trace or label:NAME"},
		{"dump --json --durration 3", "2", "unknown flag: --durration", "see prywalk dump --help"},
		{"dump --json", "2", "no target", "give -p PID, -n NAME or --core FILE"},
		{"doctor --json -p 0", "2", "-p 0", "give a process number"},
	} {
		r := prywalk(t, strings.Fields(c.args)...)
		d := checkDocument(t, s, r.stderr)
		e := d["error"].(map[string]any)
		if strings.Count(r.stderr, "\n") != 1 || r.stdout != "" || strconv.Itoa(r.code) != c.code ||
			e["code"] != json.Number(c.code) || e["cause"] != c.cause || e["remedy"] != c.remedy {
			t.Errorf("prywalk %s: exit code %d, want %s with cause %q and remedy %q: %s%s", c.args, r.code, c.code,
				c.cause, c.remedy, r.stdout, r.stderr)
		}
		text := strings.Fields(strings.Replace(c.args, "--json", "", 1))
		if plain := prywalk(t, text...); strconv.Itoa(plain.code) != c.code || !strings.HasPrefix(plain.stderr, "prywalk: ") {
			t.Errorf("prywalk %s: exit code %d, want %s: %s", text, plain.code, c.code, plain.stderr)
		}
	}
	if r := prywalk(t, "record", "--", "sh", "-c", "exit 3", "--json"); r.code != 3 || strings.Contains(r.stderr, "{") {
		t.Errorf("the command's own --json must not concern prywalk: exit code %d, want 3: %s", r.code, r.stderr)
	}
}

func TestReportCountsTheFunctionsThatItCutsOff(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	dir := scratch(t, nil)
	command{dir: dir, args: []string{"record", "-p", strconv.Itoa(target.PID), "-d", "2"}}.run(t).must(t, 0)
	type report struct {
		Functions []struct{ Self map[string]int64 }
		Cut       *struct {
			Functions int
			Share     float64
		}
	}
	read := func(args ...string) (r report) {
		text := command{dir: dir, args: append([]string{"report", "--json"}, args...)}.run(t).must(t, 0).stdout
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	all, some := read("--value", "wall"), read("--value", "wall", "-n", "3")
	if len(all.Functions) < 5 || all.Cut != nil || len(some.Functions) != 3 || some.Cut == nil {
		t.Fatalf("%d functions, cut %v; with -n 3 %d, cut %v", len(all.Functions), all.Cut, len(some.Functions), some.Cut)
	}
	whole, rest := int64(0), int64(0)
	for i, f := range all.Functions {
		whole += f.Self["wall"]
		if i >= 3 {
			rest += f.Self["wall"]
		}
	}
	if want := float64(rest) / float64(whole); some.Cut.Functions != len(all.Functions)-3 || some.Cut.Share != want {
		t.Errorf("cut %+v, want %d functions and %v", some.Cut, len(all.Functions)-3, want)
	}
}
