// The operator's console: one page, drawn by Preact into #app.

import "./console.css";

import { render } from "preact";
import { App } from "./app.tsx";

const root = document.getElementById("app");
if (root) render(<App />, root);
