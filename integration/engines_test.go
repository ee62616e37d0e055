// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// engine is a container engine as it is, with its own seccomp profile, capabilities and overlayfs. run precedes the
// flags of the command in docs/.
type engine struct {
	program, runtime string
	run              []string
	annotation       string // the flag that gives a container what Kubernetes' engines write of its pod
	data             string // of the engine; prywalk looks for names in it
	prefix           []string
}

func podmanGlobal(runtime string) []string {
	return []string{"--runtime", runtime, "--cgroup-manager=cgroupfs"}
}

// podmanLimits: where nested, Podman's own limits are over the caller's.
var podmanLimits = []string{"run", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none"}

const (
	podmanData = "/var/lib/containers/storage"
	dockerData = "/var/lib/docker"
)

var engines = []engine{
	{"podman", "runc", slices.Concat(podmanGlobal("runc"), podmanLimits), "--annotation", podmanData, nil},
	{"podman", "crun", slices.Concat(podmanGlobal("crun"), podmanLimits), "--annotation", podmanData, nil},
	{"docker", "runc", []string{"run", "--runtime", "runc", "--network", "none"}, "--label", dockerData, nil},
	{"docker", "crun", []string{"run", "--runtime", "crun", "--network", "none"}, "--label", dockerData, nil},
}

// onEachEngine runs a test with each container engine and runtime that is there.
func onEachEngine(t *testing.T, test func(*testing.T, engine)) { onEngines(t, engines, test) }

func onEngines(t *testing.T, engines []engine, test func(*testing.T, engine)) {
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "start containers")
	for _, e := range engines {
		t.Run(e.program+" "+e.runtime, func(t *testing.T) {
			testtargets.NeedProgram(t, e.program)
			testtargets.NeedProgram(t, e.runtime)
			if e.runtime == "crun" {
				e.prefix = withoutHybrid(t)
			}
			if e.program == "docker" {
				e.startDocker(t)
			}
			// Docker of another machine's administrator may know runc only.
			out, err := bounded.AllOutput(e.command("info"))
			if err != nil {
				t.Logf("%s info: %v\n%s", e.program, err, out)
			}
			knows := e.program == "podman" || strings.Contains(string(out), e.runtime)
			testtargets.Need(t, err == nil && knows, e.program+" that answers and has "+e.runtime,
				"make test-all, as root (what it answers is logged before this line)")
			test(t, e)
		})
	}
}

func (e *engine) command(args ...string) *exec.Cmd {
	all := slices.Concat(e.prefix, []string{e.program}, args)
	return exec.Command(all[0], all[1:]...)
}

// withoutHybrid is the prefix of a command in a mount namespace with cgroups of one version, as crun needs them; nil
// where that is so everywhere.
func withoutHybrid(t *testing.T) (prefix []string) {
	t.Helper()
	const unified = "/sys/fs/cgroup/unified"
	if _, err := os.Stat(unified); err != nil {
		return nil
	}
	return mountNamespace(t, "umount "+unified)
}

// mountNamespace is the prefix of a command in a mount namespace of its own, in which a script changed the mounts.
func mountNamespace(t *testing.T, script string) (prefix []string) {
	t.Helper()
	holder := exec.Command("unshare", "--mount", "sh", "-ec", script+"; echo ready; exec sleep infinity")
	testtargets.Ready(t, holder)
	return []string{"nsenter", "--mount", "-t", strconv.Itoa(holder.Process.Pid)}
}

// startDocker starts Docker's engine, without networks and rules of packets, unless one answers.
func (e *engine) startDocker(t *testing.T, flags ...string) {
	t.Helper()
	if bounded.Run(e.command("info")) == nil {
		return
	}
	daemon := testtargets.NeedProgram(t, "dockerd")
	_, err := os.Stat(dockerData)
	testtargets.Need(t, errors.Is(err, fs.ErrNotExist), "Docker that answers, or no "+dockerData, "systemctl start docker")
	dir := scratch(t, nil)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/socket")
	args := []string{daemon, "--bridge=none", "--iptables=false", "--ip6tables=false", "--exec-root", dir + "/run",
		"--pidfile", dir + "/pid", "--host", os.Getenv("DOCKER_HOST")}
	if path, err := exec.LookPath("crun"); err == nil {
		args = append(args, "--add-runtime", "crun="+path)
	}
	args = slices.Concat(e.prefix, args, flags)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			if err := os.RemoveAll(dockerData); err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("dockerd has not ended %v after SIGTERM; %s is left", patience, dockerData)
		}
	})
	up := false
	eventually(t, "dockerd answers or ends", func() bool {
		up = bounded.Run(e.command("info")) == nil
		return up || len(ended) > 0
	})
	if !up {
		text, _ := os.ReadFile(log.Name())
		t.Logf("dockerd has ended:\n%s", text)
	}
	testtargets.Need(t, up, "a host on which Docker starts", "a host of its own (dockerd's log comes before this line)")
}

func mustRun(t *testing.T, all ...[]string) {
	t.Helper()
	for _, args := range all {
		if out, err := bounded.AllOutput(exec.Command(args[0], args[1:]...)); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// image makes one of a program alone, which it runs.
func (e engine) image(t *testing.T, name, from, to string) {
	t.Helper()
	dir := scratch(t, nil) // the client of a rootless engine reads it
	tar := filepath.Join(dir, "image.tar")
	t.Cleanup(func() { _ = bounded.Run(e.command("rmi", "-f", name)) })
	mustRun(t, []string{"install", "-D", from, filepath.Join(dir, "root", to)},
		[]string{"tar", "-C", filepath.Join(dir, "root"), "-cf", tar, "."},
		e.command("import", "-c", `CMD ["`+to+`"]`, tar, name).Args)
}

// pull brings prywalk's image as a user gets it, from a registry that docs/agent.md's command has pushed it to.
func (e engine) pull(t *testing.T) (image string) {
	t.Helper()
	image = pushed(t)
	t.Cleanup(func() { _ = bounded.Run(e.command("rmi", "-f", image)) })
	args := []string{"pull", image}
	if e.program == "podman" { // Docker takes it for granted on a loopback address
		args = []string{"pull", "--tls-verify=false", image}
	}
	mustRun(t, e.command(args...).Args)
	return image
}

const imageVersion = "v0.1.0"

// pushed is the image of make dist in a registry that serves until the test ends.
func pushed(t *testing.T) (image string) {
	t.Helper()
	dir, err := released()
	if err != nil {
		t.Fatal(err)
	}
	crane := filepath.Join(dir, "crane")
	registry := exec.Command(crane, "registry", "serve", "--address", "127.0.0.1:0")
	says, err := registry.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	testtargets.Child(t, registry)
	line, err := bufio.NewReader(says).ReadString('\n')
	_, port, found := strings.Cut(strings.TrimSpace(line), "serving on port ")
	if err != nil || !found {
		t.Fatalf("the registry says %q (%v), want its port", line, err)
	}
	image = strings.NewReplacer("REGISTRY", "127.0.0.1:"+port, "VERSION", imageVersion).Replace("REGISTRY/prywalk:VERSION")
	args := strings.Fields(strings.ReplaceAll(pushCommand, "REGISTRY/prywalk:VERSION", image))
	push := exec.Command(crane, args[1:]...)
	push.Dir = dir
	if out, err := bounded.AllOutput(push); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return image
}

// released makes, once, a directory with the image of make dist in dist/oci, and with crane. [buildAndRun] removes it.
var released = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(filepath.Dir(binary), "released")
	for _, args := range [][]string{
		{"run", "./dist", "-image", "-root", "..", "-version", imageVersion, "-out", filepath.Join(dir, "dist")},
		{"build", "-o", filepath.Join(dir, "crane"), "github.com/google/go-containerregistry/cmd/crane"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = "../tools"
		if out, err := bounded.AllOutput(cmd); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	}
	return dir, nil
})

// site has images of a server and of prywalk.
type site struct {
	t               *testing.T
	e               engine
	dir             string
	server, prywalk string // images
}

func (e engine) site(t *testing.T) site {
	t.Helper()
	dir := scratch(t, nil)
	s := site{t, e, dir, "localhost/" + strings.ToLower(filepath.Base(dir)) + "-server:1", e.pull(t)}
	e.image(t, s.server, serverProgram(t), "/app/server")
	return s
}

func (s *site) run(args ...string) result {
	s.t.Helper()
	return s.engine(append(slices.Clone(s.e.run), args...)...)
}

func (s *site) engine(args ...string) result {
	s.t.Helper()
	all := s.e.command(args...).Args
	return command{exe: all[0], args: all[1:], dir: s.dir}.run(s.t)
}

// start runs the server in a container of that name until it computes, and returns the container's id.
func (s *site) start(name string, flags ...string) (id string) {
	s.t.Helper()
	s.t.Cleanup(func() { _ = bounded.Run(s.e.command("rm", "-f", name)) })
	r := s.run(append(append([]string{"-d", "--name", name}, flags...), s.server)...).must(s.t, 0)
	s.computes(name)
	return strings.TrimSpace(r.stdout)
}

// computes waits until the server in a container computes.
func (s *site) computes(name string) {
	s.t.Helper()
	pid := s.inspected(name)
	eventually(s.t, "the server computes", func() bool {
		return strings.Contains(prywalk(s.t, "dump", "-p", pid).must(s.t, 0).stdout, " computes in ")
	})
}

// inspected runs the command of docs/rights.md that gives a container's PID on the host.
func (s *site) inspected(name string) (pid string) {
	s.t.Helper()
	out, err := bounded.Output(s.e.command("inspect", "-f", "{{.State.Pid}}", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (r result) has(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.stdout+r.stderr, w) {
			t.Errorf("no %q in %s%s", w, clip(r.stdout), clip(r.stderr))
		}
	}
}

func serverProgram(t *testing.T) string {
	const source = "testdata/threads.c"
	return testtargets.Compiled{Name: "server", Sources: []string{source},
		Command: []string{"cc", "-O1", "-static", "-pthread", "-o", "OUT", source}}.Build(t)
}
