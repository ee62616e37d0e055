// SPDX-License-Identifier: Apache-2.0

package export

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/host/container"
	"prywalk/internal/show/view"
	"prywalk/internal/store/otlp"
	rec "prywalk/internal/store/profile"
)

// OTLP writes a ProfilesData message of OpenTelemetry's profiles signal (opentelemetry-proto 1.9, v1development): a
// resource per process, a profile per sample type. Samples of equal stack and attributes are joined.
func OTLP(w io.Writer, p *profile.Profile, o view.Options) error {
	return view.Write(w, p, o, writeOTLP)
}

func writeOTLP(d *view.Data, to io.Writer) error {
	e := newOTLPEncoder(d)
	for _, r := range e.resources() {
		var m protobuf.Message
		if m.Bytes(1, e.resource(r)); d.Memory.Err() != nil {
			return d.Memory.Err()
		}
		if _, err := to.Write(m); err != nil {
			return err
		}
		d.Memory.Give(e.taken)
		e.taken = 0
	}
	var m protobuf.Message
	m.Bytes(2, e.tables.Message())
	_, err := to.Write(m)
	return err
}

// otlpSampleCost is memory until the sample's resource is written, bytes.
const otlpSampleCost = 256

type otlpEncoder struct {
	data      *view.Data
	tables    *otlp.Dictionary
	locations map[*profile.Location]int64
	taken     int64 // bytes of memory, of the current resource
}

func newOTLPEncoder(d *view.Data) *otlpEncoder {
	return &otlpEncoder{data: d, tables: otlp.NewDictionary(d.Memory.Take), locations: map[*profile.Location]int64{}}
}

type otlpResource struct {
	pid     int64 // 0 means unknown
	comm    string
	in      map[string][]string // labels of a sample
	samples otlp.Samples[*profile.Sample]
}

func (e *otlpEncoder) take(n int64) bool {
	e.taken += n
	return e.data.Memory.Take(n)
}

func (e *otlpEncoder) resources() (all []*otlpResource) {
	type process struct {
		pid  int64
		comm string
	}
	known := map[process]*otlpResource{}
	for _, s := range e.data.Profile.Sample {
		if !e.take(otlpSampleCost) {
			return nil
		}
		p := process{view.NumLabel(s, rec.LabelPID), view.Label(s, rec.LabelComm)}
		r := known[p]
		if r == nil {
			r = &otlpResource{pid: p.pid, comm: p.comm, in: s.Label}
			known[p] = r
			all = append(all, r)
		}
		r.samples.Add(e.stack(s), e.link(s), e.attributes(s), s)
	}
	return all
}

func (e *otlpEncoder) attributes(s *profile.Sample) []int64 {
	list := e.tables.ThreadAttributes(&otlp.ThreadAttributes{
		TID: view.NumLabel(s, rec.LabelTID), Name: view.Label(s, rec.LabelThread), State: view.Label(s, rec.LabelState),
		Wait: view.Label(s, rec.LabelWait), WaitsFor: view.Label(s, rec.LabelWaitsFor),
		Owner: rec.OwnerText(int(view.LockOwner(s))), Role: view.Label(s, rec.LabelRole), Task: view.Label(s, rec.LabelTask),
	})
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		if !rec.IsOwnLabel(key) && !rec.IsContainerLabel(key) && !rec.IsChainLabel(key) && key != rec.LabelTrace &&
			key != rec.LabelSpan {
			list = append(list, e.tables.Attribute(key, view.Label(s, key)))
		}
	}
	return list
}

func (e *otlpEncoder) resource(r *otlpResource) protobuf.Message {
	var about protobuf.Message
	attribute := func(key string, value any) { about.Bytes(1, otlp.KeyValue(key, value)) }
	service := "unknown_service" // the conventions' name for unnamed services
	if r.comm != "" {
		attribute("process.executable.name", r.comm)
		service += ":" + r.comm
	}
	attribute("service.name", service)
	if r.pid != 0 {
		attribute("process.pid", r.pid)
	}
	for _, key := range container.Keys {
		for _, value := range r.in[key] {
			attribute(key, value)
		}
	}
	var profiles []protobuf.Message
	for i, t := range e.data.Profile.SampleType {
		if t.Type == view.TypeBlocked { // derived, not in the file
			continue
		}
		if p := e.profile(r, i, t); p != nil {
			profiles = append(profiles, p)
		}
	}
	return otlp.Resource(about, "", profiles)
}

func (e *otlpEncoder) profile(r *otlpResource, value int, t *profile.ValueType) protobuf.Message {
	begin := max(e.data.Profile.TimeNanos, 0)
	length := max(e.data.Profile.DurationNanos, 1)
	m := r.samples.Profile(e.tables, t.Type, t.Unit, uint64(begin), length,
		func(s *profile.Sample) (int64, uint64, bool) {
			ends := s.NumLabel[rec.LabelEnd]
			if len(ends) == 0 {
				return s.Value[value], 0, false
			}
			return s.Value[value], uint64(min(max(ends[0], begin), begin+length-1)), true
		})
	if m == nil || !e.take(int64(4*len(m))) {
		return nil
	}
	if p := e.data.Profile.PeriodType; p != nil {
		m.Bytes(5, e.tables.ValueType(p.Type, p.Unit))
		m.Int(6, e.data.Profile.Period)
	}
	id := sha256.Sum256([]byte(strings.Join([]string{strconv.FormatInt(begin, 10), strconv.FormatInt(length, 10),
		strconv.FormatInt(r.pid, 10), r.comm, t.Type, strconv.Itoa(len(m))}, "\x00")))
	m.Bytes(7, id[:16])
	return m
}

func (e *otlpEncoder) location(l *profile.Location) int64 {
	i, ok := e.locations[l]
	if ok {
		return i
	}
	i = e.tables.Location(l)
	e.locations[l] = i
	return i
}

// link is 0 unless the sample has the ids of a span.
func (e *otlpEncoder) link(s *profile.Sample) int64 {
	trace, err := hex.DecodeString(view.Label(s, rec.LabelTrace))
	span, err2 := hex.DecodeString(view.Label(s, rec.LabelSpan))
	if err != nil || err2 != nil || len(trace) != 16 || len(span) != 8 {
		return 0
	}
	return e.tables.Link(trace, span)
}

func (e *otlpEncoder) stack(s *profile.Sample) int64 {
	list := make([]int64, len(s.Location))
	for i, l := range s.Location {
		list[i] = e.location(l)
	}
	return e.tables.Stack(list)
}
