// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"prywalk/internal/process"
)

// attribute is an attribute of a resource; its value is a string or an int64.
type attribute struct {
	key   string
	value any
}

// ResourceOptions select resource attributes.
type ResourceOptions struct {
	// Service is the name for all processes; "": unknown_service.
	Service string
	// Environment reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of each process.
	Environment bool
	// Attributes are added to all resources.
	Attributes map[string]string
}

// resources reads a process's attributes when it is first seen, since it may end soon.
type resources struct {
	ResourceOptions
	root string
	host []attribute

	mu     sync.Mutex
	known  map[int]processAttributes
	toRead chan int
}

type processAttributes struct {
	start uint64 // clock ticks after boot
	comm  string // when it was read
	list  []attribute
}

const mostQueued = 1 << 10

func newResources(o ResourceOptions) *resources {
	r := &resources{
		ResourceOptions: o, root: "/proc", known: map[int]processAttributes{}, toRead: make(chan int, mostQueued),
	}
	if name, err := os.Hostname(); err == nil {
		r.host = append(r.host, attribute{"host.name", name})
	}
	r.host = append(r.host, attribute{"os.type", "linux"})
	for key, value := range o.Attributes {
		r.host = append(r.host, attribute{key, value})
	}
	return r
}

// readLater queues a new process to be read. It does not block.
func (r *resources) readLater(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[pid]; ok {
		return
	}
	select {
	case r.toRead <- pid:
		r.known[pid] = processAttributes{}
	default:
	}
}

func (r *resources) run(quit <-chan struct{}) {
	for {
		select {
		case pid := <-r.toRead:
			r.read(pid)
		case <-quit:
			return
		}
	}
}

// attributesOf returns a process's attributes without the host's.
func (r *resources) attributesOf(pid int, comm string) []attribute {
	r.mu.Lock()
	a := r.known[pid]
	r.mu.Unlock()
	if st, err := process.ReadStatus(r.root, pid); err == nil && (st.Start != a.start || comm != a.comm) {
		a = r.read(pid) // the pid was reused, or the program replaced
	}
	list := append([]attribute{{"process.pid", int64(pid)}}, a.list...)
	if !hasKey(list, "process.executable.name") && comm != "" {
		list = append(list, attribute{"process.executable.name", comm})
	}
	if !hasKey(list, "service.name") {
		list = append(list, attribute{"service.name", cmp.Or(r.Service, "unknown_service:"+comm)})
	}
	return list
}

func hasKey(list []attribute, key string) bool {
	for _, a := range list {
		if a.key == key {
			return true
		}
	}
	return false
}

// dropEnded drops ended processes that are not in pids.
func (r *resources) dropEnded(pids map[int]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(pid int, a processAttributes) bool {
		if pids[pid] {
			return false
		}
		st, err := process.ReadStatus(r.root, pid)
		return err != nil || st.Start != a.start
	})
}

// read reads a process's attributes from /proc, and keeps them. After the process has ended it changes nothing.
func (r *resources) read(pid int) (a processAttributes) {
	dir := filepath.Join(r.root, strconv.Itoa(pid))
	st, err := process.ReadStatus(r.root, pid)
	if err != nil {
		return a
	}
	a.start = st.Start
	if comm, err := os.ReadFile(dir + "/comm"); err == nil {
		a.comm = strings.TrimSuffix(string(comm), "\n")
	}
	add := func(key string, value any) { a.list = append(a.list, attribute{key, value}) }
	if exe, err := os.Readlink(dir + "/exe"); err == nil {
		exe = strings.TrimSuffix(exe, " (deleted)")
		add("process.executable.name", path.Base(exe))
		add("process.executable.path", exe)
	}
	if groups, err := os.ReadFile(dir + "/cgroup"); err == nil {
		if id := containerID(string(groups)); id != "" {
			add("container.id", id)
		}
	}
	if r.Environment && r.Service == "" {
		if env, err := readUpTo(dir+"/environ", mostEnvironment); err == nil {
			a.list = append(a.list, fromEnvironment(env)...)
		}
	}
	if now, err := process.ReadStatus(r.root, pid); err != nil || now.Start != a.start {
		return processAttributes{} // the pid was reused
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[pid] = a
	return a
}

// Limits of what is read from a process's environment, in bytes and number.
const (
	mostEnvironment = 1 << 18
	mostAttributes  = 64
)

func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// container matches the control group of a container of Docker, containerd, CRI-O or Podman: its id is 64 hexadecimal
// digits, under systemd between the engine's name and .scope.
var container = regexp.MustCompile(`(?:^|[-/:])([0-9a-f]{64})(?:\.scope)?$`)

// containerID returns the innermost container in a text of /proc/PID/cgroup (cgroups(7)), or "".
func containerID(text string) string {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for at := path.Clean("/" + fields[2]); at != "/"; at = path.Dir(at) {
			if m := container.FindStringSubmatch(path.Base(at)); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// fromEnvironment reads OTEL_SERVICE_NAME, which has precedence, and the percent-encoded OTEL_RESOURCE_ATTRIBUTES
// (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables).
func fromEnvironment(env []byte) (list []attribute) {
	var service, pairs string
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if s, ok := bytes.CutPrefix(v, []byte("OTEL_SERVICE_NAME=")); ok {
			service = string(s)
		} else if s, ok := bytes.CutPrefix(v, []byte("OTEL_RESOURCE_ATTRIBUTES=")); ok {
			pairs = string(s)
		}
	}
	if service != "" {
		list = append(list, attribute{"service.name", service})
	}
	for pair := range strings.SplitSeq(pairs, ",") {
		if len(list) == mostAttributes {
			break
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if text, err := url.PathUnescape(strings.TrimSpace(value)); err == nil && ok && key != "" && !hasKey(list, key) &&
			!strings.HasPrefix(key, "process.") && !strings.HasPrefix(key, "host.") {
			list = append(list, attribute{key, text})
		}
	}
	return list
}
