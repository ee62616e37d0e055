// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

type config struct {
	Path    string `mapstructure:"path"`
	Discard bool   `mapstructure:"discard"` // nothing is checked or written: for measuring the receiver
}

type line struct {
	// Sums are values by process, type, unit and function names of the stack.
	Sums map[string]int64 `json:"sums"`
	// Resources are the resource attributes by process.
	Resources map[string]map[string]any `json:"resources"`
	// Broken are the rules that the message violates.
	Broken []string `json:"broken"`
	// Size is before compression; Times and Values count time stamps and values
	Size   int `json:"size"`
	Times  int `json:"times"`
	Values int `json:"values"`
	// Headers are the request's headers, by names in lower case.
	Headers map[string]string `json:"headers"`
}

type sums struct {
	mu sync.Mutex
	config
	out *os.File
}

func newSums(_ context.Context, _ exporter.Settings, c component.Config) (xexporter.Profiles, error) {
	return &sums{config: *c.(*config)}, nil
}

// Start implements [component.Component].
func (s *sums) Start(context.Context, component.Host) (err error) {
	s.out, err = os.OpenFile(s.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// Shutdown implements [component.Component].
func (s *sums) Shutdown(context.Context) error { return s.out.Close() }

// Capabilities implements [consumer.Profiles].
func (s *sums) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeProfiles implements [consumer.Profiles].
func (s *sums) ConsumeProfiles(ctx context.Context, p pprofile.Profiles) error {
	if s.Discard {
		return nil
	}
	l := line{Sums: map[string]int64{}, Resources: map[string]map[string]any{}, Broken: check(p),
		Headers: map[string]string{}}
	with := client.FromContext(ctx).Metadata
	for key := range with.Keys() {
		l.Headers[strings.ToLower(key)] = strings.Join(with.Get(key), ", ")
	}
	l.Size = (&pprofile.ProtoMarshaler{}).ProfilesSize(p)
	if len(l.Broken) == 0 {
		l.add(p)
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(text, '\n'))
	return err
}

func (l *line) add(p pprofile.Profiles) {
	d := p.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	for _, r := range p.ResourceProfiles().All() {
		pid := "?"
		if v, ok := r.Resource().Attributes().Get("process.pid"); ok {
			pid = v.AsString()
		}
		l.Resources[pid] = r.Resource().Attributes().AsRaw()
		for _, scope := range r.ScopeProfiles().All() {
			for _, one := range scope.Profiles().All() {
				kind := text(one.SampleType().TypeStrindex()) + "/" + text(one.SampleType().UnitStrindex())
				for _, s := range one.Samples().All() {
					l.Times += s.TimestampsUnixNano().Len()
					l.Values += s.Values().Len()
					var names []string
					for _, at := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
						for _, line := range d.LocationTable().At(int(at)).Lines().All() {
							names = append(names, text(d.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
						}
					}
					key := strings.Join([]string{pid, kind, strings.Join(names, ";")}, " ")
					for _, v := range s.Values().All() {
						l.Sums[key] += v
					}
				}
			}
		}
	}
}
