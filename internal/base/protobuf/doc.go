// SPDX-License-Identifier: Apache-2.0

// Package protobuf writes and reads protocol buffer messages (protobuf.dev/programming-guides/encoding).
package protobuf
