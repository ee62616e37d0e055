// SPDX-License-Identifier: Apache-2.0

package threadcontext

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// Labels besides the attributes. Package profile has the same names.
const (
	labelTrace = "trace_id"
	labelSpan  = "span_id"
)

// Symbols are the names that [Detect] asks of each module.
var Symbols = []string{variableName}

const variableName = "otel_thread_ctx_v1"

const (
	recordHead = 28
	recordSize = 640 // recommended as the largest
	validAt    = 24
	sizeAt     = 26
)

// Runtime reads the contexts of a process's threads. It implements [managed.FrameSource], without frames.
type Runtime struct {
	managed.NoRefs
	host     managed.ContextHost
	module   *frames.Module
	variable variable
	plan     *managed.Plan
	keys     []string // by key index
	nextKeys int64    // no reading for unknown keys before, in nanoseconds of CLOCK_MONOTONIC
	threads  managed.ThreadPointers
}

var (
	_ managed.FrameSource   = (*Runtime)(nil)
	_ managed.ContextSource = (*Runtime)(nil)
)

// Detect implements [managed.Detector]. It finds the first module that exports the variable.
func Detect(h managed.Host) (managed.Runtime, error) {
	host, ok := h.(managed.ContextHost)
	if !ok || !host.ReadsContexts() {
		return nil, nil
	}
	for _, m := range h.Modules() {
		for _, s := range h.OwnSymbols(m, variableName) {
			if !s.Exported {
				continue
			}
			v, err := findVariable(host, m, s.Addr-m.Bias)
			if err != nil {
				return nil, err
			}
			return &Runtime{module: m, variable: v, plan: v.plan()}, nil
		}
	}
	return nil, nil
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "OpenTelemetry's thread context" }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	r.host, _ = h.(managed.ContextHost)
	m := managed.ModuleAgain(h, r.module)
	if m == nil || r.host == nil {
		return false
	}
	r.module, r.keys = m, readKeys(r.host)
	r.threads.Find(h)
	return true
}

// Plan implements [managed.FrameSource].
func (r *Runtime) Plan() *managed.Plan { return r.plan }

// Anchor implements [managed.FrameSource]: the thread pointer.
func (r *Runtime) Anchor(tid int, threadPointer uint64) (uint64, bool) {
	if threadPointer != 0 {
		return threadPointer, true
	}
	return r.threads.PointerOf(r.host, tid)
}

// ManagedFrames implements [managed.FrameSource].
func (r *Runtime) ManagedFrames(_ *frames.Frame, _ frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	return out, false
}

// Context implements [managed.ContextSource].
func (r *Runtime) Context(innerTID int, regs *frames.Regs, mem frames.Memory) map[string]string {
	pointer, ok := r.Anchor(innerTID, regs.TLS)
	if !ok {
		return nil
	}
	record, ok := r.variable.value(pointer, mem)
	if !ok || record == 0 {
		return nil
	}
	head := words(mem, record, recordHead)
	if head == nil || head[validAt] != 1 {
		return nil
	}
	labels := map[string]string{}
	addID := func(name string, id []byte) {
		if text := hex.EncodeToString(id); strings.Trim(text, "0") != "" {
			labels[name] = text
		}
	}
	addID(labelTrace, head[:16])
	addID(labelSpan, head[16:validAt])
	size := uint64(binary.LittleEndian.Uint16(head[sizeAt:]))
	whole := words(mem, record, recordHead+min(size, recordSize-recordHead))
	r.addAttributes(whole[min(recordHead, len(whole)):], labels)
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// addAttributes adds complete attributes; of a key that comes twice the last one counts.
func (r *Runtime) addAttributes(b []byte, labels map[string]string) {
	for len(b) >= 2 && len(b)-2 >= int(b[1]) {
		index, value := int(b[0]), string(b[2:2+b[1]])
		b = b[2+len(value):]
		if index >= len(r.keys) {
			r.readNewKeys()
		}
		if index < len(r.keys) && r.keys[index] != labelTrace && r.keys[index] != labelSpan {
			labels[r.keys[index]] = strings.ToValidUTF8(value, "\uFFFD")
		}
	}
}

const readAgain = int64(time.Second) // between readings for unknown keys

// readNewKeys reads names that the program has added; it never removes one.
func (r *Runtime) readNewKeys() {
	now := procmem.Now()
	if now < r.nextKeys {
		return
	}
	r.nextKeys = now + readAgain
	if keys := readKeys(r.host); len(keys) > len(r.keys) {
		r.keys = keys
	}
}

// words returns copied memory, or nil; size is 0 or at least 8.
func words(mem frames.Memory, at frames.Addr, size uint64) []byte {
	out := make([]byte, size)
	for off := uint64(0); off < size; off += 8 {
		off = min(off, size-8)
		w, ok := mem.Word(at + off)
		if !ok {
			return nil
		}
		binary.LittleEndian.PutUint64(out[off:], w)
	}
	return out
}
