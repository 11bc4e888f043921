// Makes the check of a NewPlant again from openapi.yaml: npm run update:validator

import { generateValidator, validatorFile } from "./new-plant-validator.ts";

await Bun.write(validatorFile, await generateValidator());
