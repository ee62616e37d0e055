// SPDX-License-Identifier: Apache-2.0

package otlp

import "prywalk/internal/base/languages"

// FrameType returns profile.frame.type (OpenTelemetry's semantic conventions, profile) by a frame's mapping.
func FrameType(mapping string) string {
	if mapping == "[kernel]" {
		return "kernel"
	}
	if l := languages.OfMapping(mapping); l != nil && l.Kind != "" {
		return l.Kind
	}
	return "native"
}
