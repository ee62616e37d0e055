// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

type numbers struct {
	path    string
	discard bool
}

func newNumbers(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Metrics, error) {
	of := c.(*config)
	return &numbers{of.Path + ".metrics", of.Discard}, nil
}

// Start implements [component.Component].
func (*numbers) Start(context.Context, component.Host) error { return nil }

// Shutdown implements [component.Component].
func (*numbers) Shutdown(context.Context) error { return nil }

// Capabilities implements [consumer.Metrics].
func (*numbers) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

type number struct {
	Kind    string             `json:"kind"`
	Unit    string             `json:"unit"`
	Service string             `json:"service"`
	Values  map[string]float64 `json:"values"`
	Times   bool               `json:"times"` // each point has a time, one of a counter after its start
}

// ConsumeMetrics implements [consumer.Metrics].
func (n *numbers) ConsumeMetrics(_ context.Context, m pmetric.Metrics) error {
	if n.discard {
		return nil
	}
	out := map[string]number{}
	for _, r := range m.ResourceMetrics().All() {
		service, _ := r.Resource().Attributes().Get("service.name")
		for _, scope := range r.ScopeMetrics().All() {
			for _, one := range scope.Metrics().All() {
				a := number{one.Type().String(), one.Unit(), service.AsString(), map[string]float64{}, true}
				var points pmetric.NumberDataPointSlice
				switch one.Type() {
				case pmetric.MetricTypeSum:
					points = one.Sum().DataPoints()
					if one.Sum().IsMonotonic() {
						a.Kind = "Counter " + one.Sum().AggregationTemporality().String()
					}
				case pmetric.MetricTypeGauge:
					points = one.Gauge().DataPoints()
				default:
					out[one.Name()] = a
					continue
				}
				for _, p := range points.All() {
					key := ""
					for _, v := range p.Attributes().All() {
						key = v.AsString()
					}
					a.Values[key] = p.DoubleValue()
					a.Times = a.Times && p.Timestamp() > 0 && p.StartTimestamp() < p.Timestamp() &&
						(one.Type() == pmetric.MetricTypeGauge) == (p.StartTimestamp() == 0)
				}
				out[one.Name()] = a
			}
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	part := n.path + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, n.path)
}
