// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

// engine is a container engine as it is, with its own seccomp profile, capabilities and overlayfs. run precedes the
// flags of the command in docs/.
type engine struct {
	program string
	run     []string
}

var podmanGlobal = []string{"--runtime", "runc", "--cgroup-manager=cgroupfs"}

// --ulimit: where nested, Podman's own limits are over the caller's.
var engines = []engine{
	{"podman", slices.Concat(podmanGlobal, []string{"run", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000",
		"--network", "none"})},
	{"docker", []string{"run", "--network", "none"}},
}

// image makes one of a program alone, as make dist does of prywalk.
func (e engine) image(t *testing.T, name, from, to, change string) {
	t.Helper()
	dir := t.TempDir()
	tar := filepath.Join(dir, "image.tar")
	t.Cleanup(func() { _ = exec.Command(e.program, "rmi", "-f", name).Run() })
	for _, args := range [][]string{
		{"install", "-D", from, filepath.Join(dir, "root", to)},
		{"tar", "-C", filepath.Join(dir, "root"), "-cf", tar, "."},
		{e.program, "import", "-c", change, tar, name},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// documented is the command of docs/rights.md with what it is run on.
func documented(t *testing.T, server, image, out string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/rights.md")
	if err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(string(text), "\ndocker run ")
	command, _, ended := strings.Cut(command, "\n```")
	if !found || !ended {
		t.Fatal("docs/rights.md has no command of docker run")
	}
	return strings.Fields(strings.NewReplacer("NAME", server, "REGISTRY/prywalk:VERSION", image,
		`"$PWD:/out"`, out+":/out", "\\\n", " ", "10s", "2s").Replace(command))
}

func TestNeighbourInAContainerOfARealEngine(t *testing.T) {
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "start containers")
	for _, e := range engines {
		t.Run(e.program, func(t *testing.T) {
			answers := exec.Command(e.program, "info").Run() == nil
			testtargets.Need(t, answers, e.program+" that answers", "install it, and start its daemon")
			if e.program == "podman" {
				testtargets.NeedProgram(t, "runc")
			}
			e.neighbour(t)
		})
	}
}

func serverProgram(t *testing.T) string {
	const source = "testdata/threads.c"
	return testtargets.Compiled{Name: "server", Sources: []string{source},
		Command: []string{"cc", "-O1", "-static", "-pthread", "-o", "OUT", source}}.Build(t)
}

func (e engine) neighbour(t *testing.T) {
	dir := scratch(t, nil)
	server := "prywalk-" + filepath.Base(dir)
	images := "localhost/" + strings.ToLower(server)
	file := serverProgram(t)
	e.image(t, images+"-server:1", file, "app/server", `CMD ["/app/server"]`)
	e.image(t, images+":1", binary, "usr/bin/prywalk", `ENTRYPOINT ["/usr/bin/prywalk"]`)
	run := func(args ...string) result {
		return command{exe: e.program, args: append(append([]string{}, e.run...), args...), dir: dir}.run(t)
	}
	t.Cleanup(func() { _ = exec.Command(e.program, "rm", "-f", server).Run() })
	run("-d", "--name", server, images+"-server:1").must(t, 0)
	run(documented(t, server, images+":1", dir)...).must(t, 0)
	functions := map[string]bool{}
	for _, f := range readProfile(t, dir+"/server.pb.gz").Function {
		functions[f.Name] = true
	}
	if !functions["main"] || !functions["computes"] {
		t.Errorf("functions of the documented command's recording are %v, want main and computes", functions)
	}
	pid, err := exec.Command(e.program, "inspect", "-f", "{{.State.Pid}}", server).Output()
	if err != nil {
		t.Fatal(err)
	}
	namesOf(t, prywalk(t, "dump", "--json", "-p", strings.TrimSpace(string(pid))).must(t, 0).stdout)

	for _, c := range neighbours {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--rm", "--pid=container:" + server}, c.flags...)
			r := run(append(append(args, images+":1"), c.args...)...).must(t, c.exit)
			for _, want := range c.want {
				if !strings.Contains(r.stdout+r.stderr, want) {
					t.Errorf("no %q in %s%s", want, r.stdout, r.stderr)
				}
			}
			for _, word := range []string{"sudo", "setcap", "run as root, or with CAP_PERFMON"} {
				if strings.Contains(r.stdout+r.stderr, word) {
					t.Errorf("%q is no remedy in a container: %s%s", word, r.stdout, r.stderr)
				}
			}
		})
	}
}

var neighbours = []struct {
	name        string
	flags, args []string
	exit        int
	want        []string
}{
	{"default", nil, []string{"doctor", "-p", "1"}, 0, []string{
		"start it with --cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH",
		"start it with --cap-add=SYS_NICE", "start the container with --cap-add=PERFMON", "own pid namespace only"}},
	{"SYS_PTRACE", []string{"--cap-add=SYS_PTRACE", "--read-only"}, []string{"dump", "-n", "server"}, 0,
		[]string{" main in /app/server", " computes in /app/server"}},
	{"a read-only root", []string{"--cap-add=SYS_PTRACE", "--read-only"}, []string{"record", "-p", "1", "-d", "1"}, 1,
		[]string{"read-only file system; give another place with -o"}},
	{"SYS_ADMIN", []string{"--cap-add=SYS_PTRACE", "--cap-add=SYS_ADMIN"}, []string{"doctor", "-p", "1"}, 0,
		[]string{"perf events             allowed: the kernel samples running threads"}},
	{"no capability", []string{"--cap-drop=ALL"}, []string{"dump", "-p", "1"}, 3,
		[]string{"it has capabilities that prywalk lacks", "--cap-add=SYS_PTRACE (Docker, Podman)"}},
	{"another user", []string{"--user=1000:1000"}, []string{"dump", "-p", "1"}, 3,
		[]string{"it runs as user 0, prywalk as user 1000", "--cap-add=SYS_PTRACE", "--user=0"}},
	{"another user's doctor", []string{"--user=1000:1000"}, []string{"doctor", "-p", "1"}, 3,
		[]string{"start it with --user=0 --cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH"}},
	{"a quota", []string{"--cap-add=SYS_PTRACE", "--cpus=0.5", "--memory=256m"}, []string{"doctor", "-p", "1"}, 0,
		[]string{"50% of a CPU"}},
}
