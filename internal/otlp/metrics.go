// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/binary"
	"math"

	"prywalk/internal/protobuf"
)

// Metric is a number with its meaning, or several with attributes.
type Metric struct {
	Name, Help, Unit string
	Counter          bool // only grows, from the process's start; else a current value
	Points           []MetricPoint
}

// MetricPoint is a value. Key and Value are its attribute; "": none.
type MetricPoint struct {
	Key, Value string
	Number     float64
}

const cumulative = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE

// Metrics returns one resource's ExportMetricsServiceRequest (opentelemetry/proto/metrics/v1/metrics.proto, release
// 1.9). start and now are Unix times, ns.
func Metrics(resource, scope protobuf.Message, list []Metric, start, now int64) (m protobuf.Message) {
	var resourceMetrics, scopeMetrics protobuf.Message
	resourceMetrics.Bytes(1, resource)
	scopeMetrics.Bytes(1, scope)
	for i := range list {
		scopeMetrics.Bytes(2, list[i].message(start, now))
	}
	resourceMetrics.Bytes(2, scopeMetrics)
	m.Bytes(1, resourceMetrics)
	return m
}

// Fields of a Metric message for its points, by kind.
const (
	fieldGauge = 5
	fieldSum   = 7
)

func (m *Metric) message(start, now int64) (out protobuf.Message) {
	out.Bytes(1, []byte(m.Name))
	out.Bytes(2, []byte(m.Help))
	out.Bytes(3, []byte(m.Unit))
	var data protobuf.Message
	for _, p := range m.Points {
		var point protobuf.Message
		if p.Key != "" {
			point.Bytes(7, KeyValue(p.Key, p.Value))
		}
		if m.Counter {
			point.Fixed(2, uint64(start))
		}
		point.Fixed(3, uint64(now))
		point.Key(4, protobuf.I64) // 0, too: a member of a oneof
		point = binary.LittleEndian.AppendUint64(point, math.Float64bits(p.Number))
		data.Bytes(1, point)
	}
	if !m.Counter {
		out.Bytes(fieldGauge, data)
		return out
	}
	data.Int(2, cumulative)
	data.Int(3, 1) // is_monotonic
	out.Bytes(fieldSum, data)
	return out
}
