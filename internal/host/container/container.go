// SPDX-License-Identifier: Apache-2.0

// Package container names the container and the pod that a process runs in. The container's id is in the path of the
// process's control group; names are in files that engines write for themselves. No engine is asked: its socket would
// give more rights than reading, and another dependency.
//
// # Files
//
// For the id ID, relative to the root of this process and then of process 1 (the host, for an agent in a container with
// the host's pid namespace):
//
//   - /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, a link of the kubelet, of every engine.
//   - config.json of the OCI runtime, whose annotations name pod and container (containerd, CRI-O). A container that
//     containerd's ctr started has a name as its id, and no annotation.
//   - config.v2.json of Docker, and containers.json of containers/storage (Podman), of root and of the user whose slice
//     the control group is in.
//
// Sources: github.com/opencontainers/runtime-spec/config.md; containerd pkg/cri/annotations; cri-o pkg/annotations;
// moby daemon/container; containers/storage containers.go; kubernetes pkg/kubelet/kuberuntime/legacy.go.
package container

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"prywalk/internal/host/safeopen"
)

// Container is the container of a process. Names are "" where no file gives them.
type Container struct {
	ID             string // 64 hexadecimal digits, or a name (ctr); "" if the process is in none
	Name           string
	Pod, Namespace string // of Kubernetes
}

// Attributes calls f with each known name, by the keys of OpenTelemetry's semantic conventions
// (opentelemetry.io/docs/specs/semconv/resource).
func (c *Container) Attributes(f func(key, value string)) {
	for i, value := range []string{c.ID, c.Name, c.Pod, c.Namespace} {
		if value != "" {
			f(Keys[i], value)
		}
	}
}

// Keys are the keys that [Container.Attributes] gives.
var Keys = [...]string{"container.id", "container.name", "k8s.pod.name", "k8s.namespace.name"}

// String returns the names that --container and --pod take, for messages.
func (c *Container) String() string {
	text := cmp.Or(c.Name, "(no name)") + " (" + c.ID[:min(12, len(c.ID))] + ")"
	if c.Pod != "" {
		text += " of pod " + c.Namespace + "/" + c.Pod
	}
	return text
}

// HasName reports whether text is the container's name, or its id or the beginning of that.
func (c *Container) HasName(text string) bool {
	return c.ID != "" && (text == c.Name || strings.HasPrefix(c.ID, text))
}

// InPod reports whether text is the pod's name, which may follow its namespace and a slash.
func (c *Container) InPod(text string) bool {
	return c.Pod != "" && (text == c.Pod || text == c.Namespace+"/"+c.Pod)
}

// idOf matches an id, under systemd between the engine's name and .scope.
var idOf = regexp.MustCompile(`(?:^|[-/:])([0-9a-f]{64})(?:\.scope)?$`)

// ID returns the innermost container whose id is of digits in a /proc/PID/cgroup (cgroups(7)), or "".
func ID(groups string) string {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for at := path.Clean("/" + fields[2]); at != "/"; at = path.Dir(at) {
			if m := idOf.FindStringSubmatch(path.Base(at)); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// Names reads the names of containers. The zero value is ready. Safe for concurrent use.
type Names struct {
	Root string // the parent of /proc: "", except in tests

	files safeopen.Opener
	mu    sync.Mutex
	known map[string]Container // those with a name, by id
}

// Of returns the container of a process by the text of its /proc/PID/cgroup.
func (n *Names) Of(groups string) Container {
	id := ID(groups)
	if id == "" {
		id = n.taskOf(groups)
		return Container{ID: id, Name: id}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c, known := n.known[id]
	if known {
		return c
	}
	c.ID = id
	for _, root := range n.roots() {
		if n.read(&c, root, homesOf(groups)); c.Name != "" {
			break
		}
	}
	if c.Name != "" {
		if n.known == nil {
			n.known = map[string]Container{}
		}
		n.known[id] = c
	}
	return c
}

func (n *Names) roots() []string { return []string{n.Root + "/", n.Root + "/proc/1/root"} }

const tasks = "run/containerd/io.containerd.runtime.v2.task" // of containerd: NAMESPACE/ID

// taskOf returns the id of containerd's task whose control group, /NAMESPACE/ID, the process is in, or "".
func (n *Names) taskOf(groups string) string {
	for line := range strings.Lines(groups) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "/")
		for _, root := range n.roots() {
			if len(parts) < 3 || slices.Contains(parts, "..") { // not below this process's root of groups
				continue
			}
			if _, err := os.Lstat(filepath.Join(root, tasks, parts[1], parts[2], "config.json")); err == nil {
				return parts[2]
			}
		}
	}
	return ""
}

// Labels returns the names of a process's container by key, or nil.
func (n *Names) Labels(pid int) map[string]string {
	groups, err := os.ReadFile(n.Root + "/proc/" + strconv.Itoa(pid) + "/cgroup")
	c := n.Of(string(groups))
	if err != nil || c.ID == "" {
		return nil
	}
	labels := map[string]string{}
	c.Attributes(func(key, value string) { labels[key] = value })
	return labels
}

// slice matches the user whose slice a group is in: of a container without root.
var slice = regexp.MustCompile(`/user-(\d+)\.slice/`)

func homesOf(groups string) (homes []string) {
	if m := slice.FindStringSubmatch(groups); m != nil {
		if u, err := user.LookupId(m[1]); err == nil {
			homes = append(homes, u.HomeDir)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, home)
	}
	return homes
}

func (n *Names) read(c *Container, root string, homes []string) {
	if fromKubeletLog(c, root); c.Name != "" {
		return
	}
	dockers := []string{"var/lib/docker"}
	for _, home := range homes {
		dockers = append(dockers, filepath.Join(home, ".local/share/docker"))
	}
	below := func(pattern string) (dirs []string) {
		dirs, _ = filepath.Glob(filepath.Join(root, pattern))
		for i := range dirs {
			dirs[i] = strings.TrimPrefix(dirs[i], root)
		}
		return dirs
	}
	dockers = append(dockers, below("var/lib/docker/[0-9]*.[0-9]*")...) // of userns-remap, by user and group
	bundles := below(tasks + "/*/" + c.ID)
	// By storage driver. A user's own directories are not searched: they are hostile.
	storages := slices.Concat(below("var/lib/containers/storage/*-containers"),
		below("run/containers/storage/*-containers"))
	for _, home := range homes {
		storages = append(storages, filepath.Join(home, ".local/share/containers/storage/overlay-containers"))
	}
	for _, storage := range storages {
		bundles = append(bundles, filepath.Join(storage, c.ID, "userdata"))
	}
	for _, dir := range bundles {
		var spec struct{ Annotations map[string]string }
		if n.readJSON(root, filepath.Join(dir, "config.json"), &spec) == nil {
			c.take(spec.Annotations)
		}
	}
	for _, dir := range dockers {
		var docker struct {
			Name   string
			Config struct{ Labels map[string]string }
		}
		if c.Name == "" && n.readJSON(root, filepath.Join(dir, "containers", c.ID, "config.v2.json"), &docker) == nil {
			c.take(docker.Config.Labels)
			c.Name = cmp.Or(c.Name, strings.TrimPrefix(docker.Name, "/"))
		}
	}
	for _, storage := range storages {
		var list []struct {
			ID    string
			Names []string
		}
		if c.Name != "" || n.readJSON(root, filepath.Join(storage, "containers.json"), &list) != nil {
			continue
		}
		for _, of := range list {
			if of.ID == c.ID && len(of.Names) > 0 {
				c.Name = of.Names[0]
			}
		}
	}
}

func fromKubeletLog(c *Container, root string) {
	names, _ := filepath.Glob(filepath.Join(root, "var/log/containers/*-"+c.ID+".log"))
	for _, name := range names {
		parts := strings.Split(strings.TrimSuffix(filepath.Base(name), "-"+c.ID+".log"), "_")
		if len(parts) == 3 {
			c.Pod, c.Namespace, c.Name = parts[0], parts[1], parts[2]
		}
	}
}

// take takes names from annotations, or from labels, which Kubernetes' former engine gave to Docker.
func (c *Container) take(annotations map[string]string) {
	c.Name = cmp.Or(c.Name, annotations["io.kubernetes.cri.container-name"], annotations["io.kubernetes.container.name"],
		annotations["nerdctl/name"])
	c.Pod = cmp.Or(c.Pod, annotations["io.kubernetes.cri.sandbox-name"], annotations["io.kubernetes.pod.name"])
	c.Namespace = cmp.Or(c.Namespace, annotations["io.kubernetes.cri.sandbox-namespace"],
		annotations["io.kubernetes.pod.namespace"])
}

const maxFile = 8 << 20 // bytes

// readJSON reads a file below root: a user's own files are hostile.
func (n *Names) readJSON(root, name string, to any) error {
	f, err := n.files.Open(safeopen.Request{Root: root, Path: name, MaxSize: maxFile})
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(f.Reader())
	return errors.Join(err, json.Unmarshal(text, to))
}
