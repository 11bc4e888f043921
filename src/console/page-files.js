// The files of the page and of its libraries, which a compiled executable contains. Loaded when the
// page is first requested. JavaScript, as TypeScript takes an imported script for code, and not for
// a path.

import addPlantScript from "./page/add-plant.js" with { type: "file" };
import addressScript from "./page/address.js" with { type: "file" };
import apiScript from "./page/api.js" with { type: "file" };
import appScript from "./page/app.js" with { type: "file" };
import backupScript from "./page/backup.js" with { type: "file" };
import chartsScript from "./page/charts.js" with { type: "file" };
import dialogsScript from "./page/dialogs.js" with { type: "file" };
import exactJsonScript from "./page/exact-json.js" with { type: "file" };
import exportScript from "./page/export.js" with { type: "file" };
import formatScript from "./page/format.js" with { type: "file" };
import historyScript from "./page/history.js" with { type: "file" };
import iconImage from "./page/icon.svg" with { type: "file" };
import importScript from "./page/import.js" with { type: "file" };
import indexPage from "./page/index.html" with { type: "file" };
import indexesScript from "./page/indexes.js" with { type: "file" };
import inventoryScript from "./page/inventory.js" with { type: "file" };
import htm from "./page/library/htm.js" with { type: "file" };
import preact from "./page/library/preact.js" with { type: "file" };
import uplotStyle from "./page/library/uplot.css" with { type: "file" };
import uplotScript from "./page/library/uplot.js" with { type: "file" };
import logInScript from "./page/log-in.js" with { type: "file" };
import plantScript from "./page/plant.js" with { type: "file" };
import plantFieldsScript from "./page/plant-fields.js" with { type: "file" };
import plantsScript from "./page/plants.js" with { type: "file" };
import queryScript from "./page/query.js" with { type: "file" };
import reloadingSectionScript from "./page/reloading-section.js" with { type: "file" };
import requestsScript from "./page/requests.js" with { type: "file" };
import sandboxScript from "./page/sandbox.js" with { type: "file" };
import sandboxRequestsScript from "./page/sandbox-requests.js" with { type: "file" };
import sandboxRulesScript from "./page/sandbox-rules.js" with { type: "file" };
import selectionScript from "./page/selection.js" with { type: "file" };
import styleSheet from "./page/style.css" with { type: "file" };
import textFieldScript from "./page/text-field.js" with { type: "file" };
import tokensScript from "./page/tokens.js" with { type: "file" };
import unitsScript from "./page/units.js" with { type: "file" };

export const pageFiles = new Map(
  Object.entries({
    "add-plant.js": addPlantScript,
    "address.js": addressScript,
    "api.js": apiScript,
    "app.js": appScript,
    "backup.js": backupScript,
    "export.js": exportScript,
    "import.js": importScript,
    "requests.js": requestsScript,
    "units.js": unitsScript,
    "charts.js": chartsScript,
    "dialogs.js": dialogsScript,
    "format.js": formatScript,
    "icon.svg": iconImage,
    "": indexPage,
    "indexes.js": indexesScript,
    "inventory.js": inventoryScript,
    "log-in.js": logInScript,
    "plant.js": plantScript,
    "plant-fields.js": plantFieldsScript,
    "plants.js": plantsScript,
    "query.js": queryScript,
    "selection.js": selectionScript,
    "history.js": historyScript,
    "reloading-section.js": reloadingSectionScript,
    "sandbox.js": sandboxScript,
    "sandbox-requests.js": sandboxRequestsScript,
    "sandbox-rules.js": sandboxRulesScript,
    "exact-json.js": exactJsonScript,
    "style.css": styleSheet,
    "text-field.js": textFieldScript,
    "tokens.js": tokensScript,
    "library/preact.js": preact,
    "library/htm.js": htm,
    "library/uplot.js": uplotScript,
    "library/uplot.css": uplotStyle,
  }),
);
