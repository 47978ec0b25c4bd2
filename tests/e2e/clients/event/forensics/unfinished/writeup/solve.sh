#!/bin/sh
sox tape.wav slow.wav tempo 0.1 && strings slow.wav
