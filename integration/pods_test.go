// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// onPodman runs a test with Podman and each runtime: Docker has no pods.
func onPodman(t *testing.T, test func(*testing.T, engine)) {
	t.Helper()
	withPods := slices.DeleteFunc(slices.Clone(engines), func(e engine) bool { return e.program != "podman" })
	onEngines(t, withPods, func(t *testing.T, e engine) {
		testtargets.NeedProgram(t, "catatonit") // the first process of a pod
		// Where nested, Podman's own limits are over the caller's ([podmanLimits]).
		file := filepath.Join(scratch(t, nil), "containers.conf")
		limits := `default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]`
		if err := os.WriteFile(file, []byte("[containers]\n"+limits+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CONTAINERS_CONF", file)
		test(t, e)
	})
}

func podman(e engine, args ...string) *exec.Cmd {
	return e.command(append(podmanGlobal(e.runtime), args...)...)
}

func TestContainersOfAPodShareTheirProcesses(t *testing.T) {
	onPodman(t, func(t *testing.T, e engine) {
		s := e.site(t)
		pod := "prywalk-pod-" + filepath.Base(s.dir)
		t.Cleanup(func() { _ = bounded.Run(podman(e, "pod", "rm", "-f", "-t", "0", pod)) })
		mustRun(t, podman(e, "pod", "create", "--name", pod, "--share", "pid", "--network", "none").Args)
		// The flags of the engine's run but its network, which is the pod's.
		run := func(args ...string) result {
			return s.engine(slices.Concat(e.run[:len(e.run)-2], []string{"--pod", pod}, args)...)
		}
		server := pod + "-server"
		run("-d", "--name", server, e.annotation, "io.kubernetes.pod.name="+pod, e.annotation,
			"io.kubernetes.pod.namespace=shop", s.server).must(t, 0)
		s.computes(server)
		run("--rm", "--cap-drop=ALL", "--cap-add=SYS_PTRACE", "--cap-add=DAC_READ_SEARCH", "--read-only", s.prywalk,
			"dump", "-n", "server").must(t, 0).has(t, " main in /app/server", " computes in /app/server")
		for _, by := range [][]string{{"--pod", pod}, {"--pod", "shop/" + pod}, {"--container", server}} {
			namesOf(t, prywalk(t, append([]string{"dump", "--json"}, by...)...).must(t, 0).stdout)
		}
	})
}

// Of the manifest only the images and the receiver are others, which is in this machine's network.
func TestSidecarOfThePagesSamplesItsPod(t *testing.T) {
	onPodman(t, func(t *testing.T, e engine) {
		image := "localhost/prywalk-app-" + strings.ToLower(filepath.Base(t.TempDir())) + ":1"
		e.image(t, image, serverProgram(t), "/bin/app")
		manifest := textsOf(t, "../docs/deploy/sidecar.yaml")
		got, url := receiver(t)
		for _, r := range [][2]string{
			{"image: app:1.0", "image: " + image}, {"image: prywalk:VERSION", "image: " + e.pull(t)},
			{`"http://collector:4317"`, url + `, --protocol, http, --window, 1s`},
			{"spec:\n", "spec:\n  hostNetwork: true\n"},
		} {
			if strings.Count(manifest, r[0]) != 1 {
				t.Fatalf("docs/deploy/sidecar.yaml has not one %q", r[0])
			}
			manifest = strings.Replace(manifest, r[0], r[1], 1)
		}
		file := filepath.Join(scratch(t, nil), "sidecar.yaml")
		if err := os.WriteFile(file, []byte(manifest), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = bounded.Run(podman(e, "kube", "down", file)) })
		mustRun(t, podman(e, "kube", "play", file).Args)
		eventually(t, "the sidecar sends stacks of the program beside it", func() bool {
			message := bounded.Receive(t, "a message of the sidecar", got)
			return bytes.Contains(message, []byte("computes")) && bytes.Contains(message, []byte("/bin/app"))
		})
	})
}
