// SPDX-License-Identifier: Apache-2.0

// Package threadcontext reads the request on which a thread works, as OpenTelemetry's libraries publish it for readers
// outside of the process (OTEP 4947, oteps/profiles/4947-thread-ctx.md; OTEP 4719, 4719-process-ctx.md).
//
//	thread pointer ─► otel_thread_ctx_v1 ─► record: trace id (16 bytes), span id (8), valid (1), flags (1),
//	                                        size of attributes (2), attributes: key index (1), length (1), value
//	/memfd:OTEL_CTX ─► header ─► Resource: threadlocal.attribute_key_map, the names of the key indexes
//
// The tracer copies the variable and the record with the stack, in the same stop or between two equal run counts. A
// record that is not valid, or whose variable is 0, is no context.
package threadcontext
