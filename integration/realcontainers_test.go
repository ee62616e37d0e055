// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// documented is the command of docs/rights.md with what it is run on.
func documented(server, image, out string) []string {
	command := strings.TrimPrefix(neighbourCommand, "docker run ")
	return strings.Fields(strings.NewReplacer("NAME", server, "REGISTRY/prywalk:VERSION", image,
		`"$PWD:/out"`, out+":/out", "10s", "2s").Replace(command))
}

func TestNeighbourInAContainerOfARealEngine(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		s := e.site(t)
		server := "prywalk-" + filepath.Base(s.dir)
		s.start(server)
		s.run(documented(server, s.prywalk, s.dir)...).must(t, 0)
		functions := map[string]bool{}
		for _, f := range readProfile(t, s.dir+"/server.pb.gz").Function {
			functions[f.Name] = true
		}
		if !functions["main"] || !functions["computes"] {
			t.Errorf("functions of the documented command's recording are %v, want main and computes", functions)
		}
		namesOf(t, prywalk(t, "dump", "--json", "-p", s.inspected(server)).must(t, 0).stdout)

		for _, c := range neighbours {
			if c.only != "" && c.only != e.program {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				args := append([]string{"--rm", "--pid=container:" + server}, c.flags...)
				if i := slices.Index(args, profileFlag); i >= 0 {
					args[i] = "seccomp=" + profileWithPerf(t, s.dir)
				}
				r := s.run(append(append(args, s.prywalk), c.args...)...).must(t, c.exit)
				r.has(t, c.want...)
				for _, word := range []string{"sudo", "setcap", "run as root, or with CAP_PERFMON"} {
					if strings.Contains(r.stdout+r.stderr, word) {
						t.Errorf("%q is no remedy in a container: %s%s", word, r.stdout, r.stderr)
					}
				}
			})
		}
	})
}

const (
	sampledByTheKernel = "perf events             allowed: the kernel samples running threads"
	raised             = "ok    priority " // with real-time group scheduling (cgroup v1) only to nice -20
	profileFlag        = "seccomp=FILE"    // FILE is that of [profileWithPerf]
)

// profileWithPerf writes the profile that Podman brings, but in which perf_event_open is allowed, and in no other rule.
func profileWithPerf(t *testing.T, dir string) (file string) {
	t.Helper()
	const own, call = "/usr/share/containers/seccomp.json", "perf_event_open"
	text, err := os.ReadFile(own)
	testtargets.Need(t, err == nil, own, testtargets.SetUp)
	var profile map[string]any
	if err := json.Unmarshal(text, &profile); err != nil {
		t.Fatal(err)
	}
	rules, ok := profile["syscalls"].([]any)
	if !ok {
		t.Fatalf("%s has no list of system calls", own)
	}
	for _, rule := range rules {
		rule := rule.(map[string]any)
		rule["names"] = slices.DeleteFunc(rule["names"].([]any), func(name any) bool { return name == call })
	}
	profile["syscalls"] = append(rules, map[string]any{"names": []string{call}, "action": "SCMP_ACT_ALLOW"})
	if text, err = json.Marshal(profile); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "seccomp.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

var neighbours = []struct {
	name, only  string // only: an engine, or ""
	flags, args []string
	exit        int
	want        []string
}{
	{"default", "", nil, []string{"doctor", "-p", "1"}, 0, []string{
		"start it with --cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH",
		"start it with --cap-add=SYS_NICE", "start the container with --cap-add=PERFMON", "own pid namespace only"}},
	{"SYS_PTRACE", "", []string{"--cap-add=SYS_PTRACE", "--read-only"}, []string{"dump", "-n", "server"}, 0,
		[]string{" main in /app/server", " computes in /app/server"}},
	{"a read-only root", "", []string{"--cap-add=SYS_PTRACE", "--read-only"}, []string{"record", "-p", "1", "-d", "1"}, 1,
		[]string{"read-only file system; give another place with -o"}},
	{"SYS_ADMIN", "", []string{"--cap-add=SYS_PTRACE", "--cap-add=SYS_ADMIN"}, []string{"doctor", "-p", "1"}, 0,
		[]string{sampledByTheKernel}},
	{"PERFMON", "podman", []string{"--cap-add=SYS_PTRACE", "--cap-add=PERFMON", "--cap-add=BPF"},
		[]string{"record", "--engine", "perf", "-p", "1", "-d", "1", "-o", "/dev/null"}, 3,
		[]string{"--security-opt seccomp=FILE"}},
	{"no PERFMON", "", []string{"--cap-add=SYS_PTRACE"},
		[]string{"record", "--engine", "perf", "-p", "1", "-d", "1", "-o", "/dev/null"}, 3,
		[]string{"--cap-add=PERFMON", "--security-opt seccomp=FILE"}},
	{"a busy host", "podman", []string{"--cap-add=SYS_PTRACE", "--cap-add=PERFMON", "--cap-add=SYS_NICE"},
		[]string{"doctor", "-p", "1"}, 0, []string{raised}},
	{"SYS_NICE", "", []string{"--cap-add=SYS_PTRACE", "--cap-add=SYS_NICE"}, []string{"doctor", "-p", "1"}, 0,
		[]string{raised}},
	{"PERFMON and a profile", "podman",
		[]string{"--cap-add=SYS_PTRACE", "--cap-add=PERFMON", "--security-opt", profileFlag},
		[]string{"doctor", "-p", "1"}, 0, []string{sampledByTheKernel}},
	{"PERFMON and no seccomp profile", "podman",
		[]string{"--cap-add=SYS_PTRACE", "--cap-add=PERFMON", "--security-opt", "seccomp=unconfined"},
		[]string{"doctor", "-p", "1"}, 0, []string{sampledByTheKernel}},
	{"no capability", "", []string{"--cap-drop=ALL"}, []string{"dump", "-p", "1"}, 3,
		[]string{"it has capabilities that prywalk lacks", "--cap-add=SYS_PTRACE (Docker, Podman)"}},
	{"another user", "", []string{"--user=1000:1000"}, []string{"dump", "-p", "1"}, 3,
		[]string{"it runs as user 0, prywalk as user 1000", "--cap-add=SYS_PTRACE", "--user=0"}},
	{"another user's doctor", "", []string{"--user=1000:1000"}, []string{"doctor", "-p", "1"}, 3,
		[]string{"start it with --user=0 --cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH"}},
	{"a quota", "", []string{"--cap-add=SYS_PTRACE", "--cpus=0.5", "--memory=256m"}, []string{"doctor", "-p", "1"}, 0,
		[]string{"50% of a CPU"}},
	{"a memory limit", "", []string{"--cap-add=SYS_PTRACE", "--memory=64m"},
		[]string{"record", "-p", "1", "-d", "1", "-o", "/dev/null"}, 0, nil},
}

func TestContainersOfARealEngineAreSelectedByName(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		s := e.site(t)
		dir := s.dir
		one := "prywalk-test-" + filepath.Base(dir)
		pod := []string{e.annotation, "io.kubernetes.pod.name=web-" + one, e.annotation, "io.kubernetes.pod.namespace=shop"}
		id := s.start(one)
		other := s.start(one+"-b", pod...)

		selected := func(by ...string) {
			t.Helper()
			var d struct {
				Threads []struct{ Name string }
			}
			dump := prywalk(t, append([]string{"dump", "--json"}, by...)...).must(t, 0).stdout
			if err := json.Unmarshal([]byte(dump), &d); err != nil || len(d.Threads) != 2 {
				t.Errorf("%v: %v, %d threads, want 2 of one process\n%s", by, err, len(d.Threads), clip(dump))
			}
		}
		for _, by := range []string{one, id, id[:20]} {
			file := filepath.Join(dir, "by.pb.gz")
			prywalk(t, "record", "--container", by, "-d", "1", "-o", file).must(t, 0)
			for _, sample := range readProfile(t, file).Sample {
				if sample.Label["container.id"][0] != id || sample.Label["container.name"][0] != one {
					t.Fatalf("--container %s: labels %v", by, sample.Label)
				}
			}
			selected("--container", by)
		}
		selected("--pod", "web-"+one)
		selected("--pod", "shop/web-"+one)
		file := filepath.Join(dir, "both.pb.gz")
		prywalk(t, "record", "-a", "--match", "^server$", "-d", "1", "-o", file).must(t, 0)
		table := prywalk(t, "report", "--by", "label:container.name", "--value", "wall", file).must(t, 0).stdout
		if !strings.Contains(table, one+"\n") && !strings.Contains(table, one+" ") || !strings.Contains(table, one+"-b") {
			t.Errorf("the groups lack a container:\n%s", table)
		}
		prefix := 0
		for id[prefix] == other[prefix] {
			prefix++
		}
		if prefix > 0 {
			prywalk(t, "dump", "--container", id[:prefix]).must(t, 2).has(t, one+" (", one+"-b (")
		}
		prywalk(t, "dump", "--container", "no-such-name").must(t, 1).has(t, one+" ("+id[:12]+")")
		prywalk(t, "dump", "--pod", "no-such-pod").must(t, 1).has(t, "--pod no-such-pod")

		// The agent's resources, as OTLP's strings.
		message := firstMessage(t, "--container", one+"-b")
		for _, word := range []string{"container.id", other, "container.name", one + "-b", "k8s.pod.name", "web-" + one,
			"k8s.namespace.name", "shop"} {
			if !bytes.Contains(message, []byte(word)) {
				t.Errorf("the agent's message has no %q", word)
			}
		}
	})
}

// receiver takes OTLP's messages by HTTP until the test ends.
func receiver(t *testing.T) (messages <-chan []byte, url string) {
	t.Helper()
	got := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		message, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		select {
		case got <- message:
		default:
		}
	}))
	t.Cleanup(server.Close)
	return got, server.URL
}

// firstMessage is what an agent with these flags sends first.
func firstMessage(t *testing.T, flags ...string) []byte {
	t.Helper()
	got, url := receiver(t)
	r := command{args: append([]string{"agent", "--endpoint", url, "--protocol", "http", "--window", "1s"},
		flags...)}.start(t)
	eventually(t, "the agent sends", func() bool { return len(got) > 0 })
	r.signal(syscall.SIGTERM)
	r.wait().must(t, 0)
	return <-got // it is there
}

// As in a DaemonSet: the host's processes, and those of containers by their names.
func TestHostIsSampledFromAContainerOfARealEngine(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		s := e.site(t)
		name := "prywalk-test-" + filepath.Base(s.dir)
		id := s.start(name)
		file := filepath.Join(s.dir, "app/server")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		copyProgram(t, serverProgram(t), file)
		onHost := testtargets.Child(t, exec.Command(file))
		pid := strconv.Itoa(onHost.Process.Pid)
		eventually(t, "the server has two threads", func() bool {
			list, _ := os.ReadDir("/proc/" + pid + "/task")
			return len(list) == 2
		})
		dump := func(flags []string, selection ...string) {
			t.Helper()
			flags = slices.Concat([]string{"--rm", "--pid=host", "--read-only", "--cap-drop=ALL", "--cap-add=SYS_PTRACE",
				"--cap-add=DAC_READ_SEARCH"}, flags, []string{s.prywalk, "dump", "--json"}, selection)
			namesOf(t, s.run(flags...).must(t, 0).stdout)
		}
		dump(nil, "-p", pid)
		dump(nil, "-p", s.inspected(name))
		dump(nil, "--container", id)
		dump([]string{"-v", e.data + ":" + e.data + ":ro"}, "--container", name)
		t.Run("name by proc 1", func(t *testing.T) {
			_, err := os.ReadDir("/proc/1/root" + e.data)
			testtargets.Need(t, err == nil, "a first process whose files can be read", "run it where /proc/1/root is the host's")
			dump(nil, "--container", name)
		})
	})
}

func TestPausedContainerOfARealEngineIsNamed(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		s := e.site(t)
		name := "prywalk-test-" + filepath.Base(s.dir)
		s.start(name)
		for _, c := range []struct{ command, want string }{{"pause", "frozen"}, {"unpause", "computes"}} {
			if out, err := bounded.AllOutput(e.command(c.command, name)); err != nil {
				t.Fatalf("%s %s: %v\n%s", e.program, c.command, err, out)
			}
			pid := s.inspected(name)
			eventually(t, c.command+" has an effect", func() bool {
				return strings.Contains(prywalk(t, "dump", "-p", pid).must(t, 0).stdout, c.want)
			})
		}
	})
}

// A container whose root is another user on the host.
func TestUserNamespaceOfARealEngine(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		testtargets.Need(t, e.program == "podman", "an engine with --uidmap", "apt-get install podman: Docker has "+
			"userns-remap instead (TestUserNamespaceOfDocker)")
		s := e.site(t)
		name := "prywalk-test-" + filepath.Base(s.dir)
		mapped := []string{"--uidmap=0:200000:65536", "--gidmap=0:200000:65536"}
		s.start(name, mapped...)
		namesOf(t, prywalk(t, "dump", "--json", "-p", s.inspected(name)).must(t, 0).stdout)
		beside := []string{"--rm", "--pid=container:" + name, "--cap-add=SYS_PTRACE"}
		r := s.run(slices.Concat(beside, []string{"--userns=container:" + name, s.prywalk, "dump", "-n", "server"})...)
		r.must(t, 0).has(t, " main in /app/server", " computes in /app/server")
		onHost := testtargets.Child(t, exec.Command(serverProgram(t)))
		r = s.run(slices.Concat([]string{"--rm", "--pid=host", "--cap-add=SYS_PTRACE"}, mapped,
			[]string{s.prywalk, "dump", "-p", strconv.Itoa(onHost.Process.Pid)})...)
		r.must(t, 3).has(t, "another user namespace")
	})
}

func TestUserNamespaceOfDocker(t *testing.T) {
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "start containers")
	testtargets.NeedProgram(t, "docker")
	testtargets.NeedProgram(t, "runc")
	ranges := filepath.Join(scratch(t, nil), "ranges")
	if err := os.WriteFile(ranges, []byte("nobody:200000:65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		_, err := os.Stat(file)
		testtargets.Need(t, err == nil, file, "apt-get install passwd")
	}
	e := engine{program: "docker", run: []string{"run", "--network", "none"},
		prefix: mountNamespace(t, "for f in /etc/subuid /etc/subgid; do mount --bind '"+ranges+"' $f; done")}
	testtargets.Need(t, bounded.Run(e.command("info")) != nil, "a host without Docker's engine", "systemctl stop docker")
	e.startDocker(t, "--userns-remap=nobody:nogroup")
	s := e.site(t)
	name := "prywalk-test-" + filepath.Base(s.dir)
	id := s.start(name)
	pid := s.inspected(name)
	if text, err := os.ReadFile("/proc/" + pid + "/uid_map"); err != nil || strings.Fields(string(text))[1] != "200000" {
		t.Fatalf("the container's users are %q (%v), want those from 200000 on", text, err)
	}
	for _, selected := range []string{name, id[:12]} {
		namesOf(t, prywalk(t, "dump", "--json", "--container", selected).must(t, 0).stdout)
	}
	r := s.run("--rm", "--pid=container:"+name, "--cap-add=SYS_PTRACE", s.prywalk, "dump", "-n", "server")
	r.must(t, 0).has(t, " main in /app/server", " computes in /app/server")
}

// The commands that tests run, to the letter.
const (
	neighbourCommand = `docker run --rm --pid=container:NAME --cap-add=SYS_PTRACE -v "$PWD:/out" ` +
		`REGISTRY/prywalk:VERSION record -n server -d 10s -o /out/server.pb.gz`
	pushCommand = "crane push --index dist/oci REGISTRY/prywalk:VERSION"
)

// containerCommands are all commands of the pages, each with the test that runs it on a real engine, or why none does.
// Without arguments or with flags alone it is named in a sentence.
var containerCommands = map[string]string{
	neighbourCommand: "TestNeighbourInAContainerOfARealEngine",
	pushCommand:      "TestNeighbourInAContainerOfARealEngine",
	"docker inspect -f '{{.State.Pid}}' NAME": "TestNeighbourInAContainerOfARealEngine",
	"docker run --cpus":                       "TestNeighbourInAContainerOfARealEngine",
	"docker pause":                            "TestPausedContainerOfARealEngineIsNamed",
	"podman inspect":                          "TestRootlessContainerIsSampledByItsUser",
	"docker inspect":                          "TestContainerOfRootlessDockerIsSampledByItsUser",
	"ctr run":                                 "TestContainersOfContainerdAloneAreSelectedByName",
	"podman pod create --share pid":           "TestContainersOfAPodShareTheirProcesses",
	"podman kube play":                        "TestSidecarOfThePagesSamplesItsPod",
	"crictl inspect":                          noCluster,
	"kubectl debug":                           noCluster,
	"kubectl debug --target":                  noCluster,
	"kubectl debug -it POD --image=REGISTRY/prywalk:VERSION --target=CONTAINER --profile=general -- " +
		"prywalk dump -n java": noCluster,
	"kubectl debug -iq POD --image=REGISTRY/prywalk:VERSION --target=CONTAINER --profile=general -- " +
		"prywalk record -q -n java -d 10s -o - > java.pb.gz": noCluster,
	"kubectl apply -f docs/deploy/daemonset.yaml": noCluster,
}

const noCluster = "not run: no Kubernetes"

// A command begins a line or a span of code, and goes on after a backslash at the end of a line.
var (
	containerCommand = regexp.MustCompile("(?m)(?:^|`)((?:docker|podman|nerdctl|crictl|kubectl|crane|ctr) " +
		"(?:\\\\\n|[^`\\n])+)")
	continuation  = regexp.MustCompile(`\s*\\\n\s*`)
	containerFlag = regexp.MustCompile(`--(?:cap-add|cap-drop|security-opt)[= ][A-Za-z_]+(?:=[A-Z]+)?`)
)

// pageTexts are the pages that users read.
func pageTexts(t *testing.T) string {
	t.Helper()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%v, pages %v", err, pages)
	}
	return textsOf(t, append(pages, "../README.md", "../SECURITY.md")...)
}

func textsOf(t *testing.T, files ...string) (all string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

func TestEachContainerCommandOfThePagesIsRunOrListed(t *testing.T) {
	t.Parallel()
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range containerCommand.FindAllStringSubmatch(pageTexts(t), -1) {
		command := continuation.ReplaceAllString(m[1], " ")
		if seen[command] = true; containerCommands[command] == "" {
			t.Errorf("the pages have %q, which no test runs, and which is not listed as such", command)
		}
	}
	source := textsOf(t, tests...)
	for command, by := range containerCommands {
		if !seen[command] {
			t.Errorf("%q is in no page", command)
		}
		if !strings.HasPrefix(by, "not run: ") && !strings.Contains(source, "func "+by+"(") {
			t.Errorf("%q: there is no %s", command, by)
		}
	}
}

func TestEachFlagOfContainersInThePagesIsThatOfANeighbour(t *testing.T) {
	t.Parallel()
	run := neighbourCommand
	for _, c := range neighbours {
		run += " " + strings.Join(c.flags, " ")
	}
	flags := containerFlag.FindAllString(pageTexts(t), -1)
	for _, flag := range flags {
		if !strings.Contains(run, flag) {
			t.Errorf("the pages have %s, which no test gives to a container", flag)
		}
	}
	if len(flags) < 5 {
		t.Errorf("the pages have the flags %v only", flags)
	}
}
