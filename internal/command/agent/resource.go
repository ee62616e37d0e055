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
	"slices"
	"strconv"
	"strings"
	"sync"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/host/container"
	"prywalk/internal/host/process"
	"prywalk/internal/store/otlp"
)

// attribute has a string or an int64.
type attribute struct {
	key   string
	value any
}

// resourceMessage takes the first attribute of each key.
func resourceMessage(list []attribute) (m protobuf.Message) {
	known := map[string]bool{}
	for _, a := range list {
		if !known[a.key] {
			known[a.key] = true
			m.Bytes(1, otlp.KeyValue(a.key, a.value))
		}
	}
	return m
}

// ResourceOptions select resource attributes.
type ResourceOptions struct {
	// Service names all processes; "" means the name of the environment, else unknown_service:COMM.
	Service string
	// Environment reads each process's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
	Environment bool
	// Attributes are added to all resources.
	Attributes map[string]string
}

// resources reads attributes soon, since a process may end early.
type resources struct {
	options    ResourceOptions
	root       string
	host       []attribute
	containers container.Names

	mu     sync.Mutex
	known  map[processKey]processAttributes
	toRead chan processKey
}

type processAttributes struct {
	comm string // when it was read
	list []attribute
}

const maxQueued = 1 << 10

func newResources(o ResourceOptions) *resources {
	r := &resources{
		options: o, root: "/proc", known: map[processKey]processAttributes{},
		toRead: make(chan processKey, maxQueued),
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

func (r *resources) readLater(p processKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[p]; ok {
		return
	}
	select {
	case r.toRead <- p:
		r.known[p] = processAttributes{}
	default:
	}
}

func (r *resources) run(quit <-chan struct{}) {
	for {
		select {
		case p := <-r.toRead:
			r.read(p)
		case <-quit:
			return
		}
	}
}

// attributesOf leaves out the host's attributes.
func (r *resources) attributesOf(p processKey, comm string) []attribute {
	r.mu.Lock()
	a := r.known[p]
	r.mu.Unlock()
	if comm != a.comm { // not read yet, or after an exec
		if read, ok := r.read(p); ok {
			a = read
		}
	}
	list := append([]attribute{{"process.pid", int64(p.pid)}}, a.list...)
	if !hasKey(list, "process.executable.name") && comm != "" {
		list = append(list, attribute{"process.executable.name", comm})
	}
	if !hasKey(list, "service.name") {
		list = append(list, attribute{"service.name", cmp.Or(r.options.Service, "unknown_service:"+comm)})
	}
	return list
}

func hasKey(list []attribute, key string) bool {
	return slices.ContainsFunc(list, func(a attribute) bool { return a.key == key })
}

// dropEnded does not read /proc under the lock: readLater must be brief.
func (r *resources) dropEnded(needed func(processKey) bool) {
	r.mu.Lock()
	known := slices.Collect(maps.Keys(r.known))
	r.mu.Unlock()
	ended := slices.DeleteFunc(known, func(p processKey) bool { return needed(p) || r.isAlive(p) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range ended {
		delete(r.known, p)
	}
}

func (r *resources) isAlive(p processKey) bool {
	st, err := process.ReadStatus(r.root, p.pid)
	return err == nil && st.Start == p.start
}

// read returns false if the process has ended.
func (r *resources) read(p processKey) (a processAttributes, ok bool) {
	dir := filepath.Join(r.root, strconv.Itoa(p.pid))
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
		c := r.containers.Of(string(groups))
		c.Attributes(func(key, value string) { add(key, value) })
	}
	if r.options.Environment && r.options.Service == "" {
		if env, err := readUpTo(dir+"/environ", maxEnvironment); err == nil {
			a.list = append(a.list, fromEnvironment(env)...)
		}
	}
	if !r.isAlive(p) { // the pid may have been reused
		return processAttributes{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[p] = a
	return a, true
}

// Limits for a process's environment, in bytes and attributes.
const (
	maxEnvironment           = 1 << 18
	maxEnvironmentAttributes = 64
)

func readUpTo(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// fromEnvironment prefers OTEL_SERVICE_NAME to OTEL_RESOURCE_ATTRIBUTES, which is percent-encoded
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
		if len(list) == maxEnvironmentAttributes {
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
