package ws

// Opcodes of RFC 6455, section 5.2.
const (
	OpContinuation = 0x0
	OpText         = 0x1
	OpBinary       = 0x2
	OpClose        = 0x8
	OpPing         = 0x9
	OpPong         = 0xA
)

const (
	finalBit     = 0x80 // in a frame's first byte: the frame is the last one of its message
	reservedBits = 0x70 // in a frame's first byte: zero, as no extension is agreed on
	opcodeBits   = 0x0F // in a frame's first byte
	maskBit      = 0x80 // in a frame's second byte: a masking key follows the length
)

// Opcode is the opcode of a frame that begins with the byte first.
func Opcode(first byte) byte { return first & opcodeBits }
